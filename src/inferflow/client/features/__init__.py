"""Features of a store that is a service, on the wire of the original or of ours.

- `reader`: the engine's `FeatureReader`, its calls and their limits
- `query`: the bytes of a query; `answer`: the rows of an answer, put where they belong
- `flights`: a key that is being asked for is not asked for again
"""
