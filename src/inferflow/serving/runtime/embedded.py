"""Models run in this process: the engine's `ModelRunner` over a folder.

A model is loaded when first needed, once however many ask at the same time, and may be
unloaded when idle; the next run loads it again. What was prepared stays with the bytes it was
prepared from: a file replaced on disk is taken up by the next `prepare`, never by a plan in use.
A model that cannot be loaded affects no other.
"""

from __future__ import annotations

import difflib
import threading
import time
import weakref
from collections.abc import Callable, Collection, Sequence

from inferflow.dtypes import Array
from inferflow.engine.deadline import Clock, Deadline
from inferflow.engine.ports import PreparedModel
from inferflow.errors import EngineFault, InvalidInput, ModelFailed, ModelUnreadable, NotFound
from inferflow.plan.catalog import Endpoint, ModelSignature, TensorInfo
from inferflow.serving.runtime.port import LoadOptions
from inferflow.serving.runtime.repository import ModelFile, ModelRepository
from inferflow.serving.runtime.session import OnnxSession, load_session
from inferflow.serving.runtime.watchdog import Watchdog

_LOAD_LIMIT_S = 120.0


class EmbeddedModels:
    """The models of one folder, ready to be prepared and run. Close it when done."""

    def __init__(
        self,
        repository: ModelRepository,
        *,
        intra_op_threads: int = 1,
        idle_unload_s: float | None = None,
        load_limit_s: float = _LOAD_LIMIT_S,
        clock: Clock = time.monotonic,
    ) -> None:
        if intra_op_threads < 0:
            raise InvalidInput(f"intra_op_threads is {intra_op_threads}; use 0 for one per core")
        self._repository = repository
        self._intra_op_threads = intra_op_threads
        self._idle_unload_s = idle_unload_s
        self._load_limit_s = load_limit_s
        self._clock = clock
        self._watchdog = Watchdog()
        self._residents: dict[tuple[str, str], _Resident] = {}
        self._superseded: weakref.WeakSet[_Resident] = weakref.WeakSet()
        self._lock = threading.Lock()
        self._closed = False

    def is_local(self, endpoint: Endpoint) -> bool:
        return endpoint.is_local

    def model_names(self) -> Collection[str]:
        return self._repository.names()

    def signature(self, endpoint: Endpoint) -> ModelSignature | None:
        """What a local model takes and gives; None when there is no such model here.

        Raises ModelUnreadable for one that is there but cannot be loaded.
        """
        if not endpoint.is_local:
            return None
        try:
            return self._resident(endpoint).signature()
        except NotFound:
            return None

    def prepare(
        self, endpoint: Endpoint, inputs: tuple[str, ...], outputs: tuple[str, ...]
    ) -> PreparedModel:
        """Bind a model's inputs and outputs by name.

        Raises NotFound, InvalidInput or ModelUnreadable.
        """
        if not endpoint.is_local:
            raise EngineFault(f"endpoint {endpoint.text!r} is not in this process")
        resident = self._resident(endpoint)
        signature = resident.signature()
        _check_names("input", inputs, signature.inputs, signature)
        _check_names("output", outputs, signature.outputs, signature)
        unbound = [tensor.name for tensor in signature.inputs if tensor.name not in inputs]
        if unbound:
            raise InvalidInput(f"model {resident.file.label!r} also takes {', '.join(unbound)}")
        return EmbeddedModel(endpoint, resident, inputs, outputs)

    def unload_idle(self, now: float | None = None) -> tuple[str, ...]:
        """Unload models unused for `idle_unload_s`; returns which, as `name@version`."""
        if self._idle_unload_s is None:
            return ()
        before = (self._clock() if now is None else now) - self._idle_unload_s
        with self._lock:
            residents = list(self._residents.items())
        unloaded = []
        for key, resident in residents:
            if not resident.is_loaded or resident.last_used > before:
                continue
            if self._repository.holds(resident.file):
                resident.unload()
            elif resident.is_prepared:
                # Its bytes are gone from disk, so unloading would break the plans that use it.
                continue
            else:
                self._forget(key, resident)
            unloaded.append(resident.file.label)
        return tuple(unloaded)

    def close(self) -> None:
        """Unload everything and end the watchdog. Later runs fail."""
        with self._lock:
            self._closed = True
            residents = [*self._residents.values(), *self._superseded]
            self._residents.clear()
        for resident in residents:
            resident.unload()
        self._watchdog.close()

    def _resident(self, endpoint: Endpoint) -> _Resident:
        file = self._repository.find(endpoint.model, endpoint.version)
        key = (file.model, file.version)
        with self._lock:
            found = self._residents.get(key)
            if found is not None and found.file.digest == file.digest:
                return found
            if found is not None:
                self._superseded.add(found)
            fresh = self._residents[key] = _Resident(file, self._load, self._clock)
            return fresh

    def _forget(self, key: tuple[str, str], resident: _Resident) -> None:
        with self._lock:
            if self._residents.get(key) is resident:
                del self._residents[key]
        resident.unload()

    def _load(self, file: ModelFile) -> OnnxSession:
        if self._closed:
            raise ModelUnreadable(file.label, "the models of this process have been closed")
        session = load_session(
            file,
            watchdog=self._watchdog,
            options=LoadOptions(intra_threads=self._intra_op_threads),
            load_limit_s=self._load_limit_s,
        )
        if not self._repository.holds(file):
            hint = "reload the config to take up the new file"
            raise ModelUnreadable(file.label, f"{file.where} has changed on disk", hint)
        return session


class _Resident:
    """One version of one model, in memory or not."""

    def __init__(
        self, file: ModelFile, load: Callable[[ModelFile], OnnxSession], clock: Clock
    ) -> None:
        self.file = file
        self.last_used = clock()
        self.users: weakref.WeakSet[EmbeddedModel] = weakref.WeakSet()
        self._load = load
        self._clock = clock
        self._loading = threading.Lock()
        self._session: OnnxSession | None = None
        self._signature: ModelSignature | None = None

    @property
    def is_loaded(self) -> bool:
        return self._session is not None

    @property
    def is_prepared(self) -> bool:
        return bool(self.users)

    def session(self) -> OnnxSession:
        """The loaded model, loading it first if need be."""
        self.last_used = self._clock()
        session = self._session
        return self._load_once() if session is None else session

    def signature(self) -> ModelSignature:
        """Kept when the model is unloaded, so that compiling a config does not load it again."""
        return self._signature or self.session().signature

    def unload(self) -> None:
        """Drop the session; runs under way finish on it."""
        self._session = None

    def _load_once(self) -> OnnxSession:
        with self._loading:
            session = self._session
            if session is None:
                session = self._session = self._load(self.file)
                self._signature = session.signature
                self.last_used = self._clock()
            return session


class EmbeddedModel:
    """A model bound to its input and output names. Runs on the calling thread."""

    def __init__(
        self,
        endpoint: Endpoint,
        resident: _Resident,
        inputs: tuple[str, ...],
        outputs: tuple[str, ...],
    ) -> None:
        self.endpoint = endpoint
        self.version = resident.file.version
        self._resident = resident
        self._inputs = inputs
        self._outputs = list(outputs)
        resident.users.add(self)

    async def run(self, tensors: Sequence[Array], *, deadline: Deadline) -> Sequence[Array]:
        if len(tensors) != len(self._inputs):
            raise EngineFault(f"{len(tensors)} tensors for the inputs {', '.join(self._inputs)}")
        try:
            session = self._resident.session()
        except ModelUnreadable as failed:
            raise ModelFailed(
                failed.model, f"it could not be loaded again: {failed.why}"
            ) from failed
        return session.run(self._outputs, dict(zip(self._inputs, tensors, strict=True)), deadline)


def _check_names(
    role: str, asked: Sequence[str], tensors: Sequence[TensorInfo], signature: ModelSignature
) -> None:
    known = [tensor.name for tensor in tensors]
    for name in asked:
        if name not in known:
            nearest = difflib.get_close_matches(name, known, n=1)
            kind = f"{role} of model {signature.model!r}"
            raise NotFound(kind, name, nearest=nearest[0] if nearest else "")
