"""Model serving.

- `runtime`: models run in this process by ONNX Runtime
"""
