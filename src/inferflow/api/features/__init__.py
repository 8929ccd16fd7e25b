"""The feature store over gRPC: `retrieve.FeatureService` and `persist.FeatureService`.

- `service`: the three calls, from bytes to bytes
- `selection`: the features a query names, resolved against the schema once
- `asking`: the keys of a query; `answering`: rows of features as the bytes of an answer
- `gotext`: values as the original writes them in text
- `persisting`: what is to be written, checked as a whole
- `callers`: who may read, who may write
"""
