"""A whole project pushed: all parts, or those that are chosen, in the order they need each other.

Nothing that fails hides the rest: each part says what became of each of its pieces. Only configs
wait for the others. When something before them failed, they stay where they are: a server that
takes up a config must find what it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from inferflow.app.loading import Progress
from inferflow.app.project import EXPRESSIONS_FILE, Project, read_project
from inferflow.app.pushing.configs import push_configs
from inferflow.app.pushing.features import has_store, push_rows
from inferflow.app.pushing.inputs import push_expressions, push_schema
from inferflow.app.pushing.models import push_models
from inferflow.app.pushing.outcome import PARTS, Outcome, Part, Tell
from inferflow.app.pushing.pruning import PRUNED, Pruning
from inferflow.app.pushing.service import push_service
from inferflow.app.settings import Settings, read_settings
from inferflow.errors import InferflowError, InvalidInput
from inferflow.serving.runtime import ModelRepository

if TYPE_CHECKING:
    from inferflow.client.manager.admin import FleetAdmin

_NO_ETCD = "there is no etcd to push to; set ETCD_ENDPOINTS"
_NO_MANAGER = "there is no manager to push to; set INFERFLOW_MANAGER"
_NO_STORE = (
    "there is neither etcd nor a feature store to push to; set ETCD_ENDPOINTS, and"
    " externalServiceOnFs_host or INFERFLOW_FEATURE_BACKEND=redis"
)
_NOTHING = "there is nowhere to push to; set ETCD_ENDPOINTS, or INFERFLOW_MANAGER for models alone"


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be pushed, and how."""

    parts: Collection[Part] = ()
    """Empty: whatever there is a place for."""
    author: str = ""
    stage: str = ""
    """Where new versions of models begin."""
    dry_run: bool = False
    """Only find out what would be changed."""
    admin: Callable[[], FleetAdmin] | None = None
    """The manager to push models to; there is none when it is not given."""
    progress: Progress | None = None
    prune: Callable[[Sequence[Outcome]], bool] | None = None
    """Also take away what is in etcd and not in the folder: shown what that is, it says whether.
    When nothing is to be changed, it is not asked."""


def push_project(root: Path, order: Order, tell: Tell = lambda _: None) -> list[Outcome]:
    """What became of every piece. Raises InvalidInput when there is no place for a part that was
    chosen, or for any; then nothing was pushed."""
    pushing = _Pushing(read_project(root), read_settings(root), order)
    pushing.check_places()
    outcomes: list[Outcome] = []
    for part in PARTS:
        for outcome in pushing.part(part, have_failed=any(each.has_failed for each in outcomes)):
            outcomes.append(outcome)
            tell(outcome)
    for outcome in pushing.pruned(have_failed=any(each.has_failed for each in outcomes)):
        outcomes.append(outcome)
        tell(outcome)
    return outcomes


class _Pushing:
    def __init__(self, project: Project, settings: Settings, order: Order) -> None:
        self._project = project
        self._settings = settings
        self._order = order

    def check_places(self) -> None:
        for part in self._order.parts:
            if why := self._no_place(part):
                raise InvalidInput(f"{part}: {why}")
        if not self._order.parts and all(map(self._no_place, PARTS)):
            raise InvalidInput(_NOTHING)

    def part(self, part: Part, *, have_failed: bool) -> Iterator[Outcome]:
        """What becomes of a part. When it breaks off, that is its last outcome."""
        if self._order.parts and part not in self._order.parts:
            return
        if why := self._no_place(part):
            yield Outcome(part, "", "skipped", f"not pushed: {why}")
            return
        if part == "configs" and have_failed:
            yield Outcome(part, "", "skipped", "not pushed, for what they need was not")
            return
        try:
            yield from self._pieces(part)
        except InferflowError as failed:
            yield Outcome(part, "", "refused", f"not pushed any further: {failed}")

    def _pieces(self, part: Part) -> Iterable[Outcome]:
        project, settings, dry_run = self._project, self._settings, self._order.dry_run
        match part:
            case "features":
                return self._features()
            case "expressions":
                if not (project.root / EXPRESSIONS_FILE).exists():
                    return [Outcome(part, "", "skipped", "there are none")]
                return push_expressions(project, settings, dry_run=dry_run)
            case "models":
                return self._models()
        return self._configs()

    def _configs(self) -> Iterator[Outcome]:
        order = self._order
        yield from push_service(self._settings, dry_run=order.dry_run)
        yield from push_configs(
            self._project,
            self._settings,
            author=order.author,
            dry_run=order.dry_run,
            alone=order.prune is not None,
        )

    def pruned(self, *, have_failed: bool) -> Iterator[Outcome]:
        """What becomes of what is in etcd alone. Nothing, when something was not pushed."""
        order = self._order
        parts = [part for part in PRUNED if not order.parts or part in order.parts]
        if order.prune is None or not self._settings.etcd.endpoints or not parts:
            return
        if have_failed:
            text = "nothing is deleted, for something was not pushed"
            yield Outcome(parts[0], "", "skipped", text)
            return
        try:
            yield from self._prune(order.prune, parts)
        except InferflowError as failed:
            yield Outcome(parts[0], "", "refused", f"not deleted any further: {failed}")

    def _prune(
        self, may: Callable[[Sequence[Outcome]], bool], parts: Sequence[Part]
    ) -> Iterator[Outcome]:
        pruning = Pruning(self._project, self._settings)
        spare = [each for part in parts for each in pruning.spare(part)]
        listed = [Outcome(each.part, each.name, "differs", "only in etcd") for each in spare]
        if self._order.dry_run:
            yield from listed
        elif listed and may(listed):
            yield from pruning.delete(spare)
        elif listed:
            yield Outcome(parts[0], "", "skipped", "nothing is deleted, as was answered")

    def _features(self) -> Iterator[Outcome]:
        project, settings, order = self._project, self._settings, self._order
        is_schema_new = False
        if settings.etcd.endpoints:
            for outcome in push_schema(project, settings, dry_run=order.dry_run):
                is_schema_new = outcome.state in ("pushed", "differs")
                yield outcome
        if has_store(settings):
            yield from push_rows(
                project,
                settings,
                dry_run=order.dry_run,
                is_schema_new=is_schema_new,
                progress=order.progress,
            )
        elif project.data_files():
            text = "rows stay here: no feature store is set that others could read them from"
            yield Outcome("features", "", "skipped", text)

    def _models(self) -> Iterator[Outcome]:
        order = self._order
        folder = self._project.root / self._settings.worker.models_dir
        repository = ModelRepository(folder)
        if not repository.names():
            text = f"there are none: {folder} has no <model>/<version>/model.onnx"
            yield Outcome("models", "", "skipped", text)
            return
        assert order.admin is not None
        with order.admin() as admin:
            yield from push_models(
                repository,
                admin,
                stage=order.stage,
                dry_run=order.dry_run,
                progress=order.progress,
            )

    def _no_place(self, part: Part) -> str:
        """Why a part cannot be pushed; empty when it can."""
        has_etcd = bool(self._settings.etcd.endpoints)
        if part == "models":
            return "" if self._order.admin is not None else _NO_MANAGER
        if part == "features":
            return "" if has_etcd or has_store(self._settings) else _NO_STORE
        return "" if has_etcd else _NO_ETCD
