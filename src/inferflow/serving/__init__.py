"""Model serving.

- `runtime`: models run in this process by ONNX Runtime
- `worker`: models that come and go, and requests that share their runs
"""
