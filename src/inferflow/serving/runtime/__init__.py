"""Runs ONNX models in this process. Importing this package does not import ONNX Runtime.

- `repository`: which models and versions a folder holds, and whether their bytes changed
- `session`: one loaded model; the only module that knows ONNX Runtime
- `complaints`: what is wrong with a file, in a sentence
- `watchdog`: stops whatever outlives its deadline
- `embedded`: the engine's `ModelRunner`: loads when needed, unloads when idle
"""

from inferflow.serving.runtime.embedded import EmbeddedModels
from inferflow.serving.runtime.repository import ModelFile, ModelRepository, Oddity

__all__ = ["EmbeddedModels", "ModelFile", "ModelRepository", "Oddity"]
