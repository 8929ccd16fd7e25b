"""Calls to one of several managers, against real gRPC servers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest

from inferflow.client.manager.calls import ManagerCalls, declared
from inferflow.client.manager.plain import plain
from inferflow.errors import (
    InvalidInput,
    NotFound,
    Overloaded,
    PermissionDenied,
    RegistryConflict,
    RemoteFailed,
    Unauthenticated,
    Unreachable,
)

LIST, CREATE = "Registry/ListModels", "Registry/CreateKey"


class Manager:
    """Answers every call with one model by its own name, or as it is told."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.calls: list[tuple[str, str]] = []
        self.refuses: tuple[grpc.StatusCode, str] | None = None
        self.hint = ""
        self._server = grpc.server(ThreadPoolExecutor(2))
        self._server.add_generic_rpc_handlers((Handler(self),))
        self.address = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        self._server.start()

    def answer(self, method: str, context: Any) -> bytes:
        shown = dict(context.invocation_metadata()).get("authorization", "")
        self.calls.append((method.rpartition("/")[2], shown))
        if self.refuses is not None:
            if self.hint:
                context.set_trailing_metadata((("retry-after-ms", self.hint),))
            context.abort(*self.refuses)
        done: bytes = declared("ListModelsResponse")(
            models=[{"name": self.name}]
        ).SerializeToString()
        return done

    def stop(self) -> None:
        self._server.stop(None).wait()


class Handler(grpc.GenericRpcHandler):
    def __init__(self, manager: Manager) -> None:
        self._manager = manager

    def service(self, details: grpc.HandlerCallDetails) -> Any:
        if details.method.endswith("UploadChunks"):
            return grpc.stream_unary_rpc_method_handler(lambda bodies, _: (list(bodies), b"")[1])
        return grpc.unary_unary_rpc_method_handler(
            lambda _, context: self._manager.answer(details.method, context)
        )


@pytest.fixture
def managers() -> Iterator[tuple[Manager, Manager]]:
    pair = Manager("one"), Manager("two")
    yield pair
    for each in pair:
        each.stop()


@pytest.fixture
def calls(managers: tuple[Manager, Manager]) -> Iterator[ManagerCalls]:
    made = ManagerCalls([each.address for each in managers], "ifk_key")
    yield made
    made.close()


def names(calls: ManagerCalls) -> list[str]:
    answer = calls.ask(LIST, declared("ListModelsRequest")(), "ListModelsResponse", repeatable=True)
    return [model.name for model in answer.models]


def test_calls_stay_with_the_manager_that_answers_and_turn_to_the_next_when_it_dies(
    calls: ManagerCalls, managers: tuple[Manager, Manager]
) -> None:
    assert [names(calls) for _ in range(3)] == [["one"]] * 3
    assert managers[0].calls == [("ListModels", "Bearer ifk_key")] * 3
    managers[0].stop()
    assert [names(calls) for _ in range(2)] == [["two"]] * 2
    managers[1].stop()
    with pytest.raises(Unreachable, match="tried 2 times"):
        names(calls)


def test_what_changes_something_is_repeated_only_if_it_never_left(
    calls: ManagerCalls, managers: tuple[Manager, Manager]
) -> None:
    create: Callable[[], Any] = lambda: calls.ask(  # noqa: E731
        CREATE, declared("CreateKeyRequest")(name="k"), "ListModelsResponse"
    )
    managers[0].refuses = (grpc.StatusCode.UNAVAILABLE, "the database is away")
    with pytest.raises(Unreachable, match="the database is away"):
        create()
    assert managers[1].calls == []
    assert names(calls) == ["two"]  # looking does no harm
    managers[1].stop()
    managers[0].refuses = None
    assert create().models[0].name == "one"  # the call never left for the dead one


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("INVALID_ARGUMENT", InvalidInput),
        ("NOT_FOUND", NotFound),
        ("FAILED_PRECONDITION", RegistryConflict),
        ("UNAUTHENTICATED", Unauthenticated),
        ("PERMISSION_DENIED", PermissionDenied),
        ("INTERNAL", RemoteFailed),
        ("RESOURCE_EXHAUSTED", InvalidInput),
    ],
)
def test_errors_say_what_the_manager_said(
    calls: ManagerCalls, managers: tuple[Manager, Manager], code: str, kind: type[Exception]
) -> None:
    managers[0].refuses = (getattr(grpc.StatusCode, code), "because of the weather")
    with pytest.raises(kind, match="because of the weather"):
        names(calls)
    assert managers[1].calls == []


def test_a_hint_when_to_come_back_is_kept(
    calls: ManagerCalls, managers: tuple[Manager, Manager]
) -> None:
    managers[0].refuses, managers[0].hint = (grpc.StatusCode.RESOURCE_EXHAUSTED, "busy"), "250"
    with pytest.raises(Overloaded, match="busy") as refused:
        names(calls)
    assert refused.value.retry_after_ms == 250


def test_what_goes_wrong_while_sending_reaches_the_sender(calls: ManagerCalls) -> None:
    def pieces() -> Iterator[Any]:
        yield declared("UploadChunk")(data=b"x")
        raise RegistryConflict("the file changed")

    with pytest.raises(RegistryConflict, match="the file changed"):
        calls.send("Registry/UploadChunks", pieces, "UploadStatus")


def test_addresses_are_needed_and_looked_at() -> None:
    with pytest.raises(InvalidInput, match="INFERFLOW_MANAGER"):
        ManagerCalls([])
    with pytest.raises(InvalidInput, match="host:port"):
        ManagerCalls(["nowhere"])


def test_messages_become_plain_values() -> None:
    model = declared("Model")(name="m", traffic={"1": 90})
    version = model.versions.add(version="1", size=2**40, loaded_on=["w1"])
    version.inputs.add(name="x", shape=[-1, 2])
    facts = plain(model)
    assert facts["traffic"] == {"1": 90}
    [plain_version] = facts["versions"]
    assert (plain_version["size"], plain_version["loaded_on"]) == (2**40, ["w1"])
    assert plain_version["inputs"] == [{"name": "x", "datatype": "", "shape": [-1, 2]}]
    assert plain_version["history"] == []
