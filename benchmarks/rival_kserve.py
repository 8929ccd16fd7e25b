"""KServe's Python server with one ONNX model: python rival_kserve.py NAME MODEL.onnx PORT

One process, one worker; inference in the server's own event loop, as an `async` predict of a
custom model is. No latency log, warnings only. It listens on every address and cannot be told
not to.
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Any

from kserve import InferOutput, InferRequest, InferResponse, Model, ModelServer
from one_thread import one_thread_session

_DATATYPES = {"float32": "FP32", "int64": "INT64"}


class Onnx(Model):
    def __init__(self, name: str, path: Path) -> None:
        super().__init__(name)
        self._session = one_thread_session(path)
        self._outputs = [output.name for output in self._session.get_outputs()]
        self.ready = True

    async def predict(
        self,
        payload: InferRequest,
        headers: Any = None,  # noqa: ARG002  # the server passes it
        response_headers: Any = None,  # noqa: ARG002
    ) -> InferResponse:
        feed = {tensor.name: tensor.as_numpy() for tensor in payload.inputs}
        values = self._session.run(None, feed)
        outputs = []
        for name, value in zip(self._outputs, values, strict=True):
            output = InferOutput(name, list(value.shape), _DATATYPES[value.dtype.name])
            output.set_data_from_numpy(value)
            outputs.append(output)
        return InferResponse(payload.id, self.name, outputs, use_binary_outputs=True)


if __name__ == "__main__":
    name, model, port = sys.argv[1:]
    del sys.argv[1:]
    print(f"gRPC  127.0.0.1:{port}", flush=True)
    server = ModelServer(http_port=0, grpc_port=int(port), workers=1, enable_latency_logging=False)
    logging.getLogger("kserve").setLevel(logging.WARNING)
    server.start([Onnx(name, Path(model))])
