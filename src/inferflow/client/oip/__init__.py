"""Models on other hosts, asked over the Open Inference Protocol.

- `runner`: the engine's `ModelRunner` for `host:port` endpoints
- `line`: calls to one server, or to several that answer alike: deadlines, repetition, errors
- `request`, `answer`: tensors as bytes and back, with `datatypes` for the types in between
- `metadata`: what a model says it takes; `signatures` remembers it and asks again
"""
