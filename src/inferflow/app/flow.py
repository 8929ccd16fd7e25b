"""Inferflow in one process: a project folder, opened.

flow = inferflow.open("shop")
flow.score("ranker", user="7", product=["1", "2", "3"])
"""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from inferflow.app.explain import Explanation, explain_plan, explain_recording
from inferflow.app.inference_log import follow_service, open_inference_log
from inferflow.app.project import Finding
from inferflow.app.settings import read_settings
from inferflow.app.settings_report import odd_variables
from inferflow.app.wiring import Embedded, open_embedded
from inferflow.client.background import SHARED
from inferflow.components.routing import pick
from inferflow.engine.asking import Asking
from inferflow.engine.recording import Recording
from inferflow.engine.request import ScoreRequest, request_from
from inferflow.engine.scorer import Scorer
from inferflow.errors import DeadlinePassed, InvalidInput, StepFailed
from inferflow.featurestore import FeatureStore
from inferflow.scores import Scores

if TYPE_CHECKING:
    from inferflow.app.reload import Reloader
    from inferflow.app.reload_status import ConfigStatus, Reload
    from inferflow.app.watching import Watcher
    from inferflow.inferlog.log import InferenceLog


def open_flow(
    directory: str | Path = ".",
    *,
    settings: Mapping[str, Any] | None = None,
    watch: bool = False,
) -> Flow:
    """Open a project folder. Configs with problems are refused one by one, when they are used;
    `validate()` lists every problem.

    With `watch`, changes of the folder are taken up while it is open, each when it is good; a
    config that is no good keeps its last good version, also the one of an earlier run.
    Variables that look like settings and are none are warned of.
    """
    for odd in odd_variables(os.environ):
        warnings.warn(str(odd).removeprefix("note: "), stacklevel=2)
    root = Path(directory)
    is_there = root.is_dir()  # when it is not, that is for others to say
    inference_log = open_inference_log(root, read_settings(root, settings)) if is_there else None
    try:
        return _opened(root, settings, inference_log, watch=watch)
    except BaseException:
        if inference_log is not None:
            inference_log.close()
        raise


def _opened(
    root: Path,
    settings: Mapping[str, Any] | None,
    inference_log: InferenceLog | None,
    *,
    watch: bool,
) -> Flow:
    if not watch:
        embedded = open_embedded(root, settings, observer=inference_log)
        return Flow(embedded, inference_log=inference_log)
    from inferflow.app.watching import Watcher, open_reloading

    embedded, reloader = open_reloading(
        root, settings, observer=inference_log, tell_service=follow_service(inference_log)
    )
    try:
        watcher = Watcher(embedded.project.root, reloader.check_now)
    except BaseException:
        reloader.close()
        embedded.close()
        raise
    return Flow(embedded, reloader=reloader, watcher=watcher, inference_log=inference_log)


class Flow(Asking[Scores]):
    """A project, ready to score. Close it, or use it in a `with` block."""

    def __init__(
        self,
        embedded: Embedded,
        *,
        reloader: Reloader | None = None,
        watcher: Watcher | None = None,
        inference_log: InferenceLog | None = None,
    ) -> None:
        self._embedded = embedded
        self._reloader = reloader
        self._watcher = watcher
        self._inference_log = inference_log
        self._is_closed = False
        self._turn = threading.Lock()
        self._holds_loop = False

    @property
    def configs(self) -> tuple[str, ...]:
        """Ids that can be scored."""
        return self._embedded.book.ids

    def status(self) -> tuple[ConfigStatus, ...]:
        """How each config of a watched project stands: its version, and what is wrong with it."""
        if self._reloader is None:
            raise InvalidInput("versions are known of a project opened with watch=True only")
        return self._reloader.status()

    def reload(self) -> Reload:
        """Look for changes now, and not when the watcher does."""
        if self._reloader is None:
            raise InvalidInput("changes are taken up by a project opened with watch=True only")
        return self._reloader.check_now()

    @property
    def features(self) -> FeatureStore:
        """The project's feature store. Raises InvalidInput when its features are a service's."""
        if address := self._embedded.settings.onfs.address:
            raise InvalidInput(f"features are read from {address}; write them there")
        return self._embedded.store

    def validate(self) -> list[Finding]:
        """Everything worth saying about the project: what was found when it was opened or
        reloaded, and what its files say now; errors and notes."""
        from inferflow.app.checking import check_project

        known = list(self._embedded.findings)
        found = check_project(self._embedded.project.root)
        return known + [finding for finding in found if finding not in known]

    def answer(self, request: ScoreRequest | Mapping[str, Any]) -> Scores:
        """Score a request, as an object or in its JSON form."""
        if not isinstance(request, ScoreRequest):
            request = request_from(request)
        if request.explain:
            scores, recording = self.record(request)
            scores.recorder = partial(explain_recording, recording, scores)
            return scores
        scorer, arm = self._picked(request)
        scores = _named(self._scored(scorer, request), request, arm)
        scores.recorder = partial(self._explained, request)
        return scores

    def record(self, request: ScoreRequest | Mapping[str, Any]) -> tuple[Scores, Recording]:
        """Score a request and keep what happened on the way."""
        if not isinstance(request, ScoreRequest):
            request = request_from(request)
        scorer, arm = self._picked(request)
        recording = scorer.new_recording()
        recording.arm = arm
        return _named(self._scored(scorer, request, recording), request, arm), recording

    def explain(
        self, config_id: str, request: ScoreRequest | Mapping[str, Any] | None = None
    ) -> Explanation:
        """Without a request: the compiled plan. With one: what happened, per step and item; when
        the request failed, up to the step it failed at."""
        if request is None:
            return explain_plan(self._embedded.book.get(config_id).plan)
        if not isinstance(request, ScoreRequest):
            request = request_from(request, config_id=config_id)
        return self._explained(request)

    def _explained(self, request: ScoreRequest) -> Explanation:
        scorer, arm = self._picked(request)
        recording = scorer.new_recording()
        recording.arm = arm
        try:
            scores = _named(self._scored(scorer, request, recording), request, arm)
        except (StepFailed, DeadlinePassed) as failed:
            return explain_recording(recording, failure=str(failed))
        return explain_recording(recording, scores)

    def _picked(self, request: ScoreRequest) -> tuple[Scorer, str]:
        if self._is_closed:
            raise InvalidInput("the project is closed; open it again to score")
        return pick(self._embedded.book, request)

    def _scored(
        self, scorer: Scorer, request: ScoreRequest, recording: Recording | None = None
    ) -> Scores:
        """On this thread when nothing waits; else on the loop that has the connections."""
        if scorer.is_local:
            return scorer.score_now(request, recording)
        with self._turn:
            if not self._holds_loop:
                SHARED.hold()
                self._holds_loop = True
        return SHARED.run(scorer.score(request, recording))

    def close(self) -> None:
        self._is_closed = True
        if self._watcher is not None:
            self._watcher.close()
        if self._reloader is not None:
            self._reloader.close()
        self._embedded.close()
        if self._inference_log is not None:
            self._inference_log.close(self._embedded.settings.logs.flush_timeout / 1000)
        with self._turn:
            if self._holds_loop:
                self._holds_loop = False
                SHARED.release()

    def __enter__(self) -> Flow:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _named(scores: Scores, request: ScoreRequest, arm: str) -> Scores:
    """An answer goes by the id that was asked for; which config gave it is the arm."""
    if arm:
        scores.config_id, scores.arm = request.config_id, arm
    return scores
