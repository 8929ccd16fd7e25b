"""MLServer with one ONNX model: python rival_mlserver.py NAME MODEL.onnx PORT

One process: inference in the server's own event loop (`parallel_workers=0`), where its default is
a pool of one other process. No debug log, no metrics port, no batching.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from mlserver import MLModel, MLServer, ModelSettings, Settings
from mlserver.codecs import NumpyCodec
from mlserver.types import InferenceRequest, InferenceResponse
from mlserver.utils import install_uvloop_event_loop
from one_thread import one_thread_session


class Onnx(MLModel):
    async def load(self) -> bool:
        self._session = one_thread_session(Path(self.settings.parameters.uri))
        self._outputs = [output.name for output in self._session.get_outputs()]
        return True

    async def predict(self, payload: InferenceRequest) -> InferenceResponse:
        feed = {tensor.name: NumpyCodec.decode_input(tensor) for tensor in payload.inputs}
        values = self._session.run(None, feed)
        return InferenceResponse(
            model_name=self.name,
            outputs=[
                NumpyCodec.encode_output(name, value)
                for name, value in zip(self._outputs, values, strict=True)
            ],
        )


async def serve(name: str, model: str, port: int) -> None:
    settings = Settings(
        debug=False,
        parallel_workers=0,
        host="127.0.0.1",
        grpc_port=port,
        http_port=0,
        metrics_endpoint=None,
        load_models_at_startup=False,
    )
    model_settings = ModelSettings(name=name, implementation=Onnx, parameters={"uri": model})
    await MLServer(settings).start([model_settings])


if __name__ == "__main__":
    name, model, port = sys.argv[1:]
    print(f"gRPC  127.0.0.1:{port}", flush=True)
    install_uvloop_event_loop()  # as its own command does
    asyncio.run(serve(name, model, int(port)))
