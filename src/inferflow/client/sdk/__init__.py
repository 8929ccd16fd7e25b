"""A fleet of workers, asked through its manager.

    with inferflow.connect_fleet("manager:50060", key="…") as fleet:
        scores = fleet.infer("ranker", {"input": rows})["scores"]

- `aio`: the client people hold; `sync` is a facade over it
- `fleet`: one call, and where it goes next when a worker fails it
- `streaming`: many calls over one connection, in order
- `sessions`: what a manager said, remembered and asked again; `managers` asks
- `workers`: connections to workers, and how each of them does
- `tensors`: arrays as the bytes of a request and back
- `refusals`: what a status means here
- `line`, `registered`: the same for steps of a project, and what its registry says a model takes

Nothing of the engine is loaded for the client itself: a caller needs numpy and gRPC.
"""
