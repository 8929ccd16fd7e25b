"""The Open Inference Protocol, inbound: what a worker answers over gRPC.

- `asking`: a request's bytes as tensors; `contents`: values that came one by one
- `answering`: tensors as a response's bytes
- `describing`: what is said about models, their configuration, statistics and state
- `access`: who may call; open unless something else is plugged in
- `service`: the calls
"""
