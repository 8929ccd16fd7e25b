"""Calls a worker with the public Triton client and prints what it saw as JSON.

Run by `test_worker_triton.py` in a virtual environment of its own: that client registers messages
of the same names as ours.
"""

import json
import queue
import sys

import numpy as np
import tritonclient.grpc as triton


def main(address: str) -> dict:
    client = triton.InferenceServerClient(address)
    seen: dict = {
        "live": client.is_server_live(),
        "ready": client.is_server_ready(),
        "model_ready": client.is_model_ready("scale"),
        "version_ready": client.is_model_ready("scale", "1"),
        "unknown_ready": client.is_model_ready("nobody"),
        "server": client.get_server_metadata(as_json=True),
        "metadata": client.get_model_metadata("scale", as_json=True),
        "config": client.get_model_config("scale", as_json=True),
    }
    seen["infer"] = infer(client)
    seen["texts"] = texts(client)
    seen["stream"] = stream(client)
    seen["errors"] = errors(client)
    seen["statistics"] = client.get_inference_statistics("scale", as_json=True)
    seen["index"] = client.get_model_repository_index(as_json=True)
    client.unload_model("scale")
    seen["unloaded_ready"] = client.is_model_ready("scale")
    seen["unloaded_index"] = client.get_model_repository_index(as_json=True)
    client.load_model("scale")
    seen["loaded_ready"] = client.is_model_ready("scale")
    seen["infer_again"] = infer(client)
    client.close()
    return seen


def tensor(values: np.ndarray, name: str = "x", datatype: str = "FP32") -> triton.InferInput:
    made = triton.InferInput(name, list(values.shape), datatype)
    made.set_data_from_numpy(values)
    return made


ROWS = np.array([[1, 2], [3, 4]], np.float32)


def infer(client: triton.InferenceServerClient) -> dict:
    answer = client.infer(
        "scale",
        [tensor(ROWS)],
        model_version="1",
        outputs=[triton.InferRequestedOutput("z"), triton.InferRequestedOutput("y")],
        request_id="r1",
        priority=1,
        timeout=5_000_000,
        client_timeout=10,
    )
    return {
        "id": answer.get_response().id,
        "order": [output.name for output in answer.get_response().outputs],
        "y": answer.as_numpy("y").tolist(),
        "z": answer.as_numpy("z").tolist(),
    }


def texts(client: triton.InferenceServerClient) -> list:
    values = np.array(["grün".encode(), b""], object)
    answer = client.infer("echo", [tensor(values, datatype="BYTES")])
    return [each.decode() for each in answer.as_numpy("y").tolist()]


def stream(client: triton.InferenceServerClient) -> list:
    answers: queue.Queue = queue.Queue()
    client.start_stream(lambda result, error: answers.put((result, error)))
    for number in range(5):
        name = "wrong" if number == 2 else "x"
        client.async_stream_infer("scale", [tensor(ROWS, name)], request_id=str(number))
    seen = []
    for _ in range(5):
        result, error = answers.get(timeout=20)
        seen.append(str(error) if error else result.get_response().id)
    client.stop_stream()
    return seen


def errors(client: triton.InferenceServerClient) -> dict:
    seen = {}
    for name, call in {
        "unknown model": lambda: client.infer("nobody", [tensor(ROWS)]),
        "unknown version": lambda: client.infer("scale", [tensor(ROWS)], model_version="9"),
        "wrong input": lambda: client.infer("scale", [tensor(ROWS, "wrong")]),
        "wrong shape": lambda: client.infer("scale", [tensor(ROWS[:, :1].copy())]),
        "unknown load": lambda: client.load_model("nobody"),
        "shared memory": client.get_system_shared_memory_status,
    }.items():
        try:
            call()
        except triton.InferenceServerException as refused:
            seen[name] = refused.status()
    return seen


if __name__ == "__main__":
    json.dump(main(sys.argv[1]), sys.stdout)
