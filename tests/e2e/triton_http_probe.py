"""Calls a gateway with the public Triton client over HTTP and prints what it saw as JSON.

Run by `test_gateway_triton.py` in a virtual environment of its own.
"""

import json
import sys

import numpy as np
import tritonclient.http as triton

ROWS = np.array([[1, 2], [3, 4]], np.float32)


def main(address: str) -> dict:
    client = triton.InferenceServerClient(address)
    seen: dict = {
        "live": client.is_server_live(),
        "ready": client.is_server_ready(),
        "model_ready": client.is_model_ready("scale"),
        "version_ready": client.is_model_ready("scale", "1"),
        "unknown_ready": client.is_model_ready("nobody"),
        "server": client.get_server_metadata(),
        "metadata": client.get_model_metadata("scale"),
        "config": client.get_model_config("scale"),
        "binary": infer(client, binary=True),
        "json": infer(client, binary=False),
        "all outputs": client.infer("scale", [tensor(ROWS)]).as_numpy("y").tolist(),
        "compressed": {
            each: infer(
                client,
                binary=True,
                request_compression_algorithm=each,
                response_compression_algorithm=each,
            )
            for each in ("gzip", "deflate")
        },
        "texts": {name: texts(client, binary=name == "binary") for name in ("binary", "json")},
        "halves": halves(client),
        "raw": raw(client, address),
        "errors": errors(client),
        "statistics": client.get_inference_statistics("scale"),
        "index": client.get_model_repository_index(),
    }
    client.unload_model("scale")
    seen["unloaded_ready"] = client.is_model_ready("scale")
    client.load_model("scale")
    seen["loaded_ready"] = client.is_model_ready("scale")
    client.close()
    return seen


def tensor(values, name="x", datatype="FP32", *, binary=True):
    made = triton.InferInput(name, list(values.shape), datatype)
    made.set_data_from_numpy(values, binary_data=binary)
    return made


def infer(client, *, binary, **more) -> dict:
    answer = client.infer(
        "scale",
        [tensor(ROWS, binary=binary)],
        model_version="1",
        outputs=[triton.InferRequestedOutput(name, binary_data=binary) for name in ("z", "y")],
        request_id="r1",
        priority=1,
        timeout=5_000_000,
        **more,
    )
    told = answer.get_response()
    return {
        "id": told["id"],
        "order": [output["name"] for output in told["outputs"]],
        "y": answer.as_numpy("y").tolist(),
        "z": answer.as_numpy("z").tolist(),
    }


def texts(client, *, binary) -> list:
    values = np.array(["grün".encode(), b""], object)
    output = triton.InferRequestedOutput("y", binary_data=binary)
    given = tensor(values, datatype="BYTES", binary=binary)
    found = client.infer("echo", [given], outputs=[output]).as_numpy("y").tolist()
    return [each.decode() if isinstance(each, bytes) else each for each in found]


def halves(client) -> list:
    values = np.array([[0.5, 2]], np.float16)
    answer = client.infer("halves", [tensor(values, datatype="FP16")]).as_numpy("y")
    return [str(answer.dtype), answer.tolist()]


def raw(client, address) -> dict:
    import urllib.request

    asked = urllib.request.Request(
        f"http://{address}/v2/models/scale/infer",
        data=ROWS.tobytes(),
        headers={"Inference-Header-Content-Length": "0"},
    )
    with urllib.request.urlopen(asked) as answer:
        length = int(answer.headers["Inference-Header-Content-Length"])
        body = answer.read()
    parsed = triton.InferenceServerClient.parse_response_body(body, header_length=length)
    return {"y": parsed.as_numpy("y").tolist()}


def errors(client) -> dict:
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
