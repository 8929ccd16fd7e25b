"""Runs ONNX models in this process. Importing this package does not import ONNX Runtime.

- `repository`: which models and versions a folder holds, and whether their bytes changed
- `port`: what a runtime promises; `onnx`: the one there is
- `session`: one loaded model; `quantised`: smaller copies; the modules that know ONNX Runtime
- `vendor`: ONNX Runtime itself, kept from reporting to its maker
- `providers`: where it computes; `devices`: which accelerators there are
- `complaints`: what is wrong with a file, in a sentence
- `watchdog`: stops whatever outlives its deadline
- `embedded`: the engine's `ModelRunner`: loads when needed, unloads when idle
"""

from inferflow.serving.runtime.embedded import EmbeddedModels
from inferflow.serving.runtime.repository import ModelFile, ModelRepository, Oddity

__all__ = ["EmbeddedModels", "ModelFile", "ModelRepository", "Oddity"]
