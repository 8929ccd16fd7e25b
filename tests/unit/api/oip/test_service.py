"""Everything around inference: describing, loading, streaming, permission, overload."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from onnx import TensorProto

from inferflow._proto.pool import message_class
from inferflow.api.oip.access import Metadata
from inferflow.api.oip.service import SERVICE, InferPolicy
from inferflow.errors import PermissionDenied, Unauthenticated
from inferflow.rpc.admission import Admission
from inferflow.serving.worker import BatchRules, ModelPlan
from inferflow.telemetry.worker_tally import WorkerTally

from .worker import answered, floats, identity, put, request, run, serving, subtract

StreamResponse = message_class("inference.ModelStreamInferResponse")


def test_a_worker_says_that_it_lives_and_what_it_can(tmp_path: Path) -> None:
    async def main() -> None:
        async with serving(tmp_path) as call:
            assert (await call("ServerLive")).live
            assert (await call("ServerReady")).ready
            about = await call("ServerMetadata")
            assert about.name == "inferflow"
            assert "model_repository" in about.extensions

    run(main())


def test_a_model_is_ready_unless_it_is_unknown_or_broken(tmp_path: Path) -> None:
    put(tmp_path, "good", subtract())
    put(tmp_path, "broken", b"<html>")

    async def main() -> None:
        async with serving(tmp_path) as call:
            assert (await call("ModelReady", name="good")).ready
            assert (await call("ModelReady", name="good", version="1")).ready
            assert not (await call("ModelReady", name="good", version="2")).ready
            assert not (await call("ModelReady", name="nobody")).ready
            code, text = await call.refused("ModelMetadata", name="broken")
            assert code == "UNAVAILABLE"
            assert "not ONNX" in text
            assert str(tmp_path) not in text
            assert not (await call("ModelReady", name="broken")).ready
            answer = await call("ModelInfer", request("good", a=floats(2), b=floats(1)))
            assert answered(answer) == {"c": [1], "d": [-1]}

    run(main())


def test_metadata_names_versions_types_and_free_sizes(tmp_path: Path) -> None:
    put(tmp_path, "m", identity(TensorProto.STRING, ["N", 3]))
    put(tmp_path, "m", identity(TensorProto.STRING, ["N", 3]), version="10")

    async def main() -> None:
        async with serving(tmp_path) as call:
            about = await call("ModelMetadata", name="m")
            assert (about.name, list(about.versions)) == ("m", ["1", "10"])
            (tensor,) = about.inputs
            assert (tensor.name, tensor.datatype, list(tensor.shape)) == ("x", "BYTES", [-1, 3])
            assert (await call.refused("ModelMetadata", name="nobody"))[0] == "NOT_FOUND"

    run(main())


@pytest.mark.parametrize(("max_rows", "dims"), [(1, [-1, 3]), (8, [3])])
def test_the_config_tells_how_a_model_is_batched(
    tmp_path: Path, max_rows: int, dims: list[int]
) -> None:
    put(tmp_path, "m", identity(TensorProto.FLOAT, ["N", 3]))
    rules = BatchRules(max_rows=max_rows, max_delay_s=0.002, preferred=(4,))

    async def main() -> None:
        async with serving(tmp_path, plan=ModelPlan(rules=rules)) as call:
            config = (await call("ModelConfig", name="m")).config
            assert config.max_batch_size == (max_rows if max_rows > 1 else 0)
            assert list(config.input[0].dims) == dims
            assert config.input[0].data_type == 11
            if max_rows > 1:
                assert config.dynamic_batching.max_queue_delay_microseconds == 2000
                assert list(config.dynamic_batching.preferred_batch_size) == [4]

    run(main())


def test_statistics_count_rows_and_runs(tmp_path: Path) -> None:
    put(tmp_path, "m", identity(TensorProto.FLOAT))
    put(tmp_path, "n", identity(TensorProto.FLOAT))

    async def main() -> None:
        async with serving(tmp_path) as call:
            for _ in range(3):
                await call("ModelInfer", request(x=floats(1, 2)))
            await call.refused("ModelInfer", request(x=("FP32", [2], b"")))
            (stats,) = (await call("ModelStatistics", name="m")).model_stats
            assert (stats.inference_count, stats.execution_count) == (6, 3)
            assert stats.inference_stats.success.count == 3
            assert stats.inference_stats.compute_infer.ns > 0
            assert [each.batch_size for each in stats.batch_stats] == [2]
            assert stats.last_inference > 0
            everything = (await call("ModelStatistics")).model_stats
            assert [each.name for each in everything] == ["m", "n"]
            assert (await call.refused("ModelStatistics", name="x"))[0] == "NOT_FOUND"

    run(main())


def test_models_are_unloaded_and_loaded_by_hand(tmp_path: Path) -> None:
    put(tmp_path, "m", identity(TensorProto.FLOAT))

    async def main() -> None:
        async with serving(tmp_path) as call:
            asked = request(x=floats(1))
            await call("ModelInfer", asked)
            await call("RepositoryModelUnload", model_name="m")
            (entry,) = (await call("RepositoryIndex")).models
            assert (entry.name, entry.version, entry.state) == ("m", "1", "UNAVAILABLE")
            assert not (await call("RepositoryIndex", ready=True)).models
            assert (await call.refused("ModelInfer", asked))[0] == "UNAVAILABLE"
            put(tmp_path, "m", identity(TensorProto.FLOAT), version="2")
            await call("RepositoryModelLoad", model_name="m")
            assert (await call("ModelInfer", asked)).model_version == "2"
            for method in ("RepositoryModelLoad", "RepositoryModelUnload"):
                assert (await call.refused(method, model_name="x"))[0] == "NOT_FOUND"
            code, _ = await call.refused("RepositoryIndex", repository_name="other")
            assert code == "NOT_FOUND"

    run(main())


def test_a_load_with_files_or_config_of_its_own_is_refused(tmp_path: Path) -> None:
    put(tmp_path, "m", identity(TensorProto.FLOAT))
    asked = message_class("inference.RepositoryModelLoadRequest")(model_name="m")
    asked.parameters["config"].string_param = "{}"

    async def main() -> None:
        async with serving(tmp_path) as call:
            code, text = await call.refused("RepositoryModelLoad", asked)
            assert code == "INVALID_ARGUMENT"
            assert "config" in text

    run(main())


def test_a_stream_answers_in_order_and_outlives_a_bad_request(tmp_path: Path) -> None:
    put(tmp_path, "m", identity(TensorProto.FLOAT))

    async def bodies() -> AsyncIterator[bytes]:
        for number in range(40):
            asked = request(x=floats(number))
            asked.id = str(number)
            if number == 7:
                asked.inputs[0].name = "z"
            yield asked.SerializeToString()
        yield b"\xff"

    async def main() -> None:
        async with serving(tmp_path) as call:
            stream = call.channel.stream_stream(f"/{SERVICE}/ModelStreamInfer")(bodies())
            answers = [StreamResponse.FromString(each) async for each in stream]
        assert len(answers) == 41
        for number, answer in enumerate(answers[:40]):
            assert answer.infer_response.id == str(number)
            if number == 7:
                assert answer.error_message.startswith("[request id: 7] inputs[0]")
            else:
                assert answered(answer.infer_response) == {"y": [number]}
        assert "not a ModelInferRequest" in answers[40].error_message

    run(main())


class Door:
    """Lets `key` in to use model `m` alone."""

    key_id = "k1"
    version = ""

    def identify(self, metadata: Metadata) -> Door:
        if ("authorization", "key") not in [(each[0], each[1]) for each in metadata]:
            raise Unauthenticated("show a key")
        return self

    def check_inference(self, model: str, version: str) -> None:
        if (model, version) != ("m", "1"):
            raise PermissionDenied(f"not {model}")

    def check_model(self, model: str) -> None:
        if model != "m":
            raise PermissionDenied(f"not {model}")

    def check_administration(self) -> None:
        raise PermissionDenied("not an administrator")


def test_who_may_not_is_refused_before_anything_is_loaded(tmp_path: Path) -> None:
    put(tmp_path, "m", identity(TensorProto.FLOAT))
    put(tmp_path, "other", identity(TensorProto.FLOAT))
    key = (("authorization", "key"),)
    tally = WorkerTally(with_process=False)

    async def main() -> None:
        async with serving(tmp_path, access=Door(), observer=tally) as call:
            asked = request(x=floats(1))
            assert (await call.refused("ModelInfer", asked))[0] == "UNAUTHENTICATED"
            assert (await call.refused("ModelInfer", b"\xff"))[0] == "UNAUTHENTICATED"
            assert (await call.refused("ServerMetadata"))[0] == "UNAUTHENTICATED"
            assert (await call("ServerReady")).ready  # for probes, as gRPC's own health is
            assert call.host.ready("m", "") is None
            await call("ModelInfer", asked, metadata=key)
            other = request("other", x=floats(1))
            denied = await call.refused("ModelInfer", other, metadata=key)
            assert denied[0] == "PERMISSION_DENIED"
            assert call.host.ready("other", "") is None
            assert (await call("ModelMetadata", metadata=key, name="m")).name == "m"
            for method, fields in (
                ("RepositoryModelUnload", {"model_name": "m"}),
                ("RepositoryIndex", {}),
                ("ModelMetadata", {"name": "other"}),
                ("ModelStatistics", {}),
            ):
                code, _ = await call.refused(method, metadata=key, **fields)
                assert code == "PERMISSION_DENIED", method

    run(main())
    page = tally.render().decode()
    counted = 'inferflow_worker_key_requests_total{key="k1",model="m",outcome="ok"} 1.0'
    assert counted in page


def test_the_surplus_is_refused_with_a_hint_when_to_come_back(tmp_path: Path) -> None:
    put(tmp_path, "m", identity(TensorProto.FLOAT))

    async def main() -> None:
        async with serving(tmp_path, admission=Admission(0)) as call:
            infer = call.channel.unary_unary(f"/{SERVICE}/ModelInfer")
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await infer(request(x=floats(1)).SerializeToString(), timeout=20)
            assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
            assert ("retry-after-ms", "100") in list(refused.value.trailing_metadata() or ())

    run(main())


def test_a_hung_model_is_stopped_at_the_deadline_and_the_worker_goes_on(
    tmp_path: Path, endless: bytes
) -> None:
    put(tmp_path, "hung", endless)
    put(tmp_path, "m", identity(TensorProto.FLOAT))

    async def main() -> None:
        async with serving(tmp_path, infer=InferPolicy(default_deadline_ms=200)) as call:
            infer: Any = call.channel.unary_unary(f"/{SERVICE}/ModelInfer")
            asked = request("hung", x=floats(1)).SerializeToString()
            with pytest.raises(grpc.aio.AioRpcError) as late:
                await infer(asked)
            assert late.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
            assert answered(await call("ModelInfer", request(x=floats(3)))) == {"y": [3]}

    run(main())
