"""The Open Inference Protocol over HTTP: JSON and binary tensors for its gRPC messages.

- `routes`: every path of the protocol
- `body`: a body as its JSON part and the bytes behind it, and an answer put together again
- `asking`: an inference request as the message a worker takes
- `answering`: a worker's answer as JSON, as bytes, or as both
- `telling`: what models and servers say about themselves
"""
