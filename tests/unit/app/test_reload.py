"""Changes taken up while a project serves."""

from __future__ import annotations

import json
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from inferflow.app.config_stores import open_configs
from inferflow.app.flow import Flow, open_flow
from inferflow.app.reload import Reloader
from inferflow.app.reload_status import ConfigStatus, Reload
from inferflow.app.settings import read_settings
from inferflow.app.watching import Watcher, log_reload, open_reloading
from inferflow.app.wiring import Embedded
from inferflow.engine.request import request_from
from inferflow.errors import InferflowError, InvalidInput, NotFound, PlanRejected
from inferflow.scores import Scores

from ...robustness.scenario import StartScenario

REQUEST = {"entities": {"item": ["1", "2"]}, "context": {"name": "ann"}}


@dataclass
class Served:
    """A served project, and hands to change it."""

    root: Path
    embedded: Embedded
    reloader: Reloader
    flow: Flow

    def score(self, config_id: str = "echo", x: float = 0.0) -> Scores:
        asked = {**REQUEST, "model_config_id": config_id, "features": {"item": {"x": [x, x]}}}
        return self.flow.answer(asked)

    def value(self, config_id: str = "echo", x: float = 0.0) -> float:
        return float(self.score(config_id, x)["echo:score"][0])

    def write(self, config_id: str, content: Any) -> None:
        (self.root / "configs" / f"{config_id}.json").write_text(json.dumps(content))

    def expressions(self, **expressions: str) -> None:
        (self.root / "expressions.yaml").write_text(json.dumps(expressions))

    def status(self, config_id: str = "echo") -> ConfigStatus:
        (found,) = [each for each in self.reloader.status() if each.id == config_id]
        return found

    def findings(self) -> list[str]:
        return [str(finding) for finding in self.flow.validate()]

    def restarted(self) -> Served:
        self.flow.close()
        return serve(self.root)


def serve(root: Path) -> Served:
    embedded, reloader = open_reloading(root, {"feature_backend": "memory"})
    return Served(root, embedded, reloader, Flow(embedded))


@pytest.fixture
def template(echo: Path) -> Callable[[str], Any]:
    """The echo config, computing another expression."""
    written = json.loads((echo / "configs/echo.json").read_text())

    def of(compute_id: str) -> Any:
        config = json.loads(json.dumps(written))
        config["component_config"]["numerix_component_config"]["echo"]["compute_id"] = compute_id
        return config

    return of


@pytest.fixture
def served(echo: Path) -> Iterator[Served]:
    (echo / "expressions.yaml").write_text("echo: x\nplus: x + 10\nminus: x - 10\n")
    opened = serve(echo)
    yield opened
    opened.flow.close()


# --- taking up ------------------------------------------------------------------------------


def test_a_changed_config_is_taken_up(served: Served, template: Callable[[str], Any]) -> None:
    assert served.value(x=1) == 1
    served.write("echo", template("plus"))
    assert served.value(x=1) == 1
    assert served.reloader.check_now().changed == ("echo",)
    assert served.value(x=1) == 11


def test_a_new_config_is_served_and_a_deleted_one_is_not(
    served: Served, template: Callable[[str], Any]
) -> None:
    served.write("more", template("plus"))
    assert served.reloader.check_now().changed == ("more",)
    assert served.value("more", x=1) == 11
    (served.root / "configs/more.json").unlink()
    assert served.reloader.check_now().removed == ("more",)
    with pytest.raises(NotFound):
        served.score("more")
    assert [each.origin for each in open_history(served, "more")] == ["edit", "removed"]


def open_history(served: Served, config_id: str) -> Any:
    return open_configs(served.root, read_settings(served.root)).history(config_id)


def test_a_look_at_nothing_new_does_nothing(served: Served) -> None:
    book = served.embedded.book
    reload = served.reloader.check_now()
    assert (reload.changed, reload.refused, reload.removed) == ((), (), ())
    assert served.embedded.book is book


def test_what_did_not_change_keeps_its_very_scorer(
    served: Served, template: Callable[[str], Any]
) -> None:
    served.write("more", template("plus"))
    served.reloader.check_now()
    before = served.embedded.book
    text = (served.root / "configs/echo.json").read_text()
    (served.root / "configs/echo.json").write_text(text + "\n\n")  # says the same
    served.write("more", template("minus"))
    assert served.reloader.check_now().changed == ("more",)
    after = served.embedded.book
    assert after.live["echo"] is before.live["echo"]
    assert after.live["more"] is not before.live["more"]
    assert before.live["more"].plan is not after.live["more"].plan


def test_changed_expressions_change_the_configs_that_use_them(
    served: Served, template: Callable[[str], Any]
) -> None:
    served.write("more", template("plus"))
    served.reloader.check_now()
    served.expressions(echo="x", plus="x + 20", minus="x")
    assert served.reloader.check_now().changed == ("more",)
    assert served.value("more", x=1) == 21


def test_a_changed_schema_brings_its_new_columns(served: Served) -> None:
    schema = "entities: {item: {keys: [item_id], groups: {facts: {features: {weight: FP32%s}}}}}\n"
    (served.root / "features/item.facts.csv").write_text("item_id,weight\n1,5\n")
    (served.root / "features/schema.yaml").write_text(schema % ", height: FP32")
    (served.root / "features/item.facts.csv").write_text("item_id,weight,height\n1,5,7\n")
    config = json.loads((served.root / "configs/echo.json").read_text())
    component = config["component_config"]["feature_component_config"]["fs_item"]
    component["fs_request"]["feature_groups"][0]["feature_labels"] = ["weight", "height"]
    config["response_config"]["features"] += ["item:facts:height"]
    component["col_name_prefix"] = "item"
    served.write("echo", config)
    assert served.reloader.check_now().changed == ("echo",)
    assert served.score()["item:facts:height"].tolist() == [7.0, 0.0]


def test_a_replaced_model_file_is_taken_up_and_a_broken_one_is_not(
    starter: Path, scenario: StartScenario
) -> None:
    tried = scenario("H6", "a served model replaced by a broken file")
    model = starter / "models/like_model/1/model.onnx"
    embedded, reloader = open_reloading(starter, {"feature_backend": "memory"})
    with Flow(embedded) as flow:
        first = flow.score("ranker", user="ada", book=["1"])
        good = model.read_bytes()
        replace(model, b"not a model")
        assert reloader.check_now().refused == ("ranker",)
        again = flow.score("ranker", user="ada", book=["1"])
        assert again["pick:score"] == first["pick:score"]
        is_old = again.config_version == first.config_version
        tried.holds("the version before answers", again.config_version[:12], is_old)
        # The same graph with another name: other bytes, the same scores.
        replace(model, good.replace(b"inferflow", b"somebody!"))
        assert reloader.check_now().changed == ("ranker",)
        last = flow.score("ranker", user="ada", book=["1"])
        assert last.config_version != first.config_version
        assert last["pick:score"] == first["pick:score"]


def replace(file: Path, content: bytes) -> None:
    beside = file.with_name("new")
    beside.write_bytes(content)
    beside.replace(file)


# --- refusing -------------------------------------------------------------------------------


def test_a_bad_config_is_refused_while_its_last_good_plan_serves(served: Served) -> None:
    good = served.score().config_version
    for bad in ({"response_config": {}}, {"echo": {"ab": {"nobody": 100}}}):
        served.write("echo", bad)
        assert served.reloader.check_now().refused == ("echo",)
        assert served.score().config_version == good
        assert served.status().state == "last good"
        assert served.status().version == 1
        assert served.status().problems
    assert any("last good version, 1, keeps serving" in each for each in served.findings())


@pytest.mark.parametrize("text", ["", "{", '{"a": 1, "a": 2}', "[]", "\ufeff"])
def test_a_file_that_cannot_be_read_is_refused_and_not_taken_for_a_deletion(
    served: Served, text: str
) -> None:
    (served.root / "configs/echo.json").write_text(text)
    assert served.reloader.check_now().refused == ("echo",)
    assert served.value(x=2) == 2
    assert served.status().state == "last good"
    assert len(open_history(served, "echo")) == 1


def test_every_config_of_a_file_that_broke_keeps_serving(
    served: Served, template: Callable[[str], Any]
) -> None:
    served.write("both", {"one": template("plus"), "two": template("minus")})
    served.reloader.check_now()
    (served.root / "configs/both.json").write_text("{")
    served.reloader.check_now()
    assert (served.value("one"), served.value("two")) == (10, -10)
    again = served.restarted()
    assert (again.value("one"), again.value("two")) == (10, -10)
    again.flow.close()


def test_one_bad_config_keeps_no_other_from_changing(
    served: Served, template: Callable[[str], Any]
) -> None:
    served.write("more", template("plus"))
    served.write("bad", template("nothing of this name"))
    (served.root / "configs/worse.yaml").write_text("{")
    served.write("echo", template("minus"))
    reload = served.reloader.check_now()
    assert set(reload.changed) == {"more", "echo"}
    assert set(reload.refused) == {"bad", "worse"}
    assert (served.value(), served.value("more")) == (-10, 10)
    with pytest.raises(PlanRejected, match="nothing of this name"):
        served.score("bad")


def test_a_broken_schema_or_expression_file_is_refused_as_a_whole(
    served: Served, template: Callable[[str], Any]
) -> None:
    for name in ("features/schema.yaml", "expressions.yaml"):
        (served.root / name).write_text("{")
    served.write("more", template("plus"))
    assert served.reloader.check_now().changed == ("more",)
    assert served.value("more") == 10
    found = "\n".join(served.findings())
    assert "features/schema.yaml: error" in found
    assert "expressions.yaml: error" in found


def test_a_broken_expression_costs_only_the_configs_that_use_it_and_they_keep_serving(
    served: Served, template: Callable[[str], Any]
) -> None:
    served.write("more", template("plus"))
    served.reloader.check_now()
    served.expressions(echo="x + 1", plus="x + (", minus="x")
    reload = served.reloader.check_now()
    assert (reload.changed, reload.refused) == (("echo",), ("more",))
    assert (served.value(), served.value("more")) == (1, 10)


def test_a_schema_that_a_feature_file_does_not_fit_is_refused(served: Served) -> None:
    (served.root / "features/item.facts.csv").write_text("item_id,weight\n1,heavy\n")
    schema = (served.root / "features/schema.yaml").read_text()
    (served.root / "features/schema.yaml").write_text(schema.replace("FP32", "INT32"))
    assert served.reloader.check_now().refused == ()
    assert any("features/schema.yaml" in each and "heavy" in each for each in served.findings())
    assert served.value(x=3) == 3


def test_a_mended_config_serves_again(served: Served, template: Callable[[str], Any]) -> None:
    served.write("echo", {})
    served.reloader.check_now()
    served.write("echo", template("plus"))
    assert served.reloader.check_now().refused == ()
    assert served.status().state == "serving"
    assert served.status().version == 2
    assert served.value() == 10


# --- remembering ----------------------------------------------------------------------------


def test_every_version_taken_up_is_in_the_history_with_how_it_was_checked(
    served: Served, template: Callable[[str], Any]
) -> None:
    for compute_id in ("plus", "nothing of this name", "minus"):
        served.write("echo", template(compute_id))
        served.reloader.check_now()
    history = open_history(served, "echo")
    assert [each.number for each in history] == [1, 2, 3]
    assert {each.origin for each in history} == {"edit"}
    assert {each.checks for each in history} == {"compiled"}
    assert served.status().hash == history[-1].hash
    assert (served.status().origin, served.status().author) == ("edit", history[-1].author)


def test_two_processes_that_serve_one_project_write_one_history(
    served: Served, template: Callable[[str], Any]
) -> None:
    other = serve(served.root)
    served.write("echo", template("plus"))
    for each in (served, other):
        each.reloader.check_now()
        assert each.value() == 10
        assert each.status().version == 2
    assert len(open_history(served, "echo")) == 2
    other.flow.close()


def test_the_last_good_version_survives_a_restart(
    served: Served, template: Callable[[str], Any], scenario: StartScenario
) -> None:
    tried = scenario("C3", "a bad config over two restarts")
    served.write("echo", template("plus"))
    served.reloader.check_now()
    served.write("echo", template("nothing of this name"))
    again = served.restarted()
    assert again.value() == 10
    assert again.status().state == "last good"
    assert again.status().version == 2
    assert any("last good version, 2, keeps serving" in each for each in again.findings())
    once_more = again.restarted()
    value = once_more.value()
    tried.holds("the last good version answers", value, value == 10)
    once_more.flow.close()


@pytest.mark.parametrize("file", ["features/schema.yaml", "expressions.yaml"])
@pytest.mark.parametrize("text", ["{", "{}", "nothing: [that, fits]"])
def test_a_config_survives_a_restart_with_a_schema_or_expressions_it_cannot_live_with(
    served: Served, file: str, text: str
) -> None:
    (served.root / file).write_text(text)
    again = served.restarted()
    assert again.value(x=4) == 4
    again.flow.close()


def test_what_never_was_good_is_refused_after_a_restart_too(
    served: Served, template: Callable[[str], Any]
) -> None:
    served.write("bad", template("nothing of this name"))
    again = served.restarted()
    with pytest.raises(PlanRejected):
        again.score("bad")
    assert again.status("bad").state == "refused"
    again.flow.close()


def test_a_config_that_was_deleted_is_not_brought_back_by_a_restart(
    served: Served, template: Callable[[str], Any]
) -> None:
    served.write("more", template("plus"))
    served.reloader.check_now()
    (served.root / "configs/more.json").unlink()
    again = served.restarted()
    with pytest.raises(NotFound):
        again.score("more")
    again.flow.close()


def test_a_last_good_version_whose_model_is_gone_says_so(starter: Path) -> None:
    embedded, _ = open_reloading(starter, {"feature_backend": "memory"})
    embedded.close()
    shutil.rmtree(starter / "models/like_model")
    embedded, reloader = open_reloading(starter, {"feature_backend": "memory"})
    with Flow(embedded) as flow:
        assert reloader.status()[0].state == "refused"
        assert any("last good version, 1, cannot serve" in str(each) for each in flow.validate())
        with pytest.raises(PlanRejected):
            flow.score("ranker", user="ada", book=["1"])


# --- under load -----------------------------------------------------------------------------


@pytest.fixture
def eager_threads() -> Iterator[None]:
    """Threads take turns often, so that they meet in many places and nobody waits long."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("eager_threads")
def test_two_hundred_reloads_fail_no_request_and_each_answer_is_of_one_version(
    served: Served, template: Callable[[str], Any], scenario: StartScenario
) -> None:
    """Version n adds 1000 n to what it is given. A request that met two versions would show."""
    tried = scenario("C7", "two hundred reloads under a thread that asks")
    versions = 10
    served.expressions(**{f"v{n}": f"x + {1000 * n}" for n in range(versions)}, echo="x")
    served.write("echo", template("v0"))
    served.reloader.check_now()
    answers: list[tuple[str, float, float]] = []
    failures: list[BaseException] = []
    answered, ending, reloads = threading.Condition(), threading.Event(), [1]

    def ask() -> None:
        x = 0.0
        while not ending.is_set():
            x = (x + 1) % 100
            try:
                scores = served.score(x=x)
            except BaseException as failed:
                failures.append(failed)
                return
            with answered:
                answers.append((scores.config_version, x, float(scores["echo:score"][1])))
                answered.notify_all()
                # Some answers per reload are enough; more would only take the reloader's time.
                answered.wait_for(lambda: len(answers) < 20 * reloads[0] or ending.is_set())

    thread = threading.Thread(target=ask)
    thread.start()
    version_of = {served.embedded.book.live["echo"].plan.digest: 0}
    try:
        for reload in range(200):
            number = reload % versions
            bad = reload % 7 == 3
            served.write("echo", template("nothing of this name" if bad else f"v{number}"))
            served.reloader.check_now()
            if not bad:
                version_of[served.embedded.book.live["echo"].plan.digest] = number
            with answered:
                seen, reloads[0] = len(answers), reload + 2
                answered.notify_all()
                answered.wait_for(lambda seen=seen: len(answers) > seen or failures, timeout=30)
    finally:
        with answered:
            ending.set()
            answered.notify_all()
        thread.join()
    tried.none("request fails", failures, of=len(answers))
    assert len(answers) >= 200
    assert len(version_of) == versions
    mixed = [each for each in answers if each[2] != each[1] + 1000 * version_of[each[0]]]
    tried.none("answer is of two versions", mixed, of=len(answers))


@pytest.mark.scenario("C7", "C8")
def test_a_request_in_flight_finishes_on_the_plan_it_started_with(
    served: Served, template: Callable[[str], Any]
) -> None:
    scorer = served.embedded.book.get("echo")
    served.write("echo", template("plus"))
    served.reloader.check_now()
    served.expressions(echo="x * 0")
    served.reloader.check_now()
    asked = {**REQUEST, "model_config_id": "echo", "features": {"item": {"x": [1, 2]}}}
    assert scorer.score_now(request_from(asked))["echo:score"].tolist() == [1, 2]


# --- watching -------------------------------------------------------------------------------


def test_a_watcher_looks_when_a_file_changes_and_when_folders_come(tmp_path: Path) -> None:
    looks = threading.Semaphore(0)
    errors: list[Exception] = []

    def look() -> None:
        looks.release()
        raise InferflowError("told, and survived")

    watcher = Watcher(tmp_path, look, failed=errors.append, tick_ms=20, debounce_ms=10)
    try:
        assert looks.acquire(timeout=30)  # there is nothing to watch yet, but it looks
        (tmp_path / "configs").mkdir()
        assert looks.acquire(timeout=30)
        (tmp_path / "configs/a.json").write_text("{}")
        assert looks.acquire(timeout=30)
        assert looks.acquire(timeout=30)
    finally:
        watcher.close()
    assert str(errors[0]) == "told, and survived"


def test_a_watcher_without_events_looks_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_more_watches(*_: Any, **__: Any) -> Any:
        raise OSError("no space left for watches")

    monkeypatch.setattr("watchfiles.watch", no_more_watches)
    (tmp_path / "configs").mkdir()
    looks, errors = threading.Semaphore(0), list[Exception]()
    watcher = Watcher(tmp_path, looks.release, failed=errors.append, tick_ms=1)
    try:
        assert looks.acquire(timeout=30)
        assert looks.acquire(timeout=30)
    finally:
        watcher.close()
    assert [str(error) for error in errors] == ["no space left for watches"]


def test_a_change_is_taken_up_when_it_is_seen(
    echo: Path, template: Callable[[str], Any], caplog: pytest.LogCaptureFixture
) -> None:
    (echo / "expressions.yaml").write_text("echo: x\nplus: x + 10\n")
    changed, refused = threading.Event(), threading.Event()

    def tell(reload: Reload) -> None:
        log_reload(reload)
        if reload.changed == ("echo",):
            changed.set()
        if reload.refused:
            refused.set()

    embedded, reloader = open_reloading(echo, {"feature_backend": "memory"}, tell=tell)
    watcher = Watcher(echo, reloader.check_now, tick_ms=50, debounce_ms=10)
    try:
        changed.clear()
        (echo / "configs/echo.json").write_text(json.dumps(template("plus")))
        assert changed.wait(30)
        (echo / "expressions.yaml").write_text("echo: x\n")
        assert refused.wait(30)
    finally:
        watcher.close()
        embedded.close()
    assert "there is no expression 'plus'" in caplog.text


def test_a_flow_that_watches_knows_versions_and_one_that_does_not_says_so(echo: Path) -> None:
    with open_flow(echo, settings={"feature_backend": "memory"}, watch=True) as flow:
        assert flow.reload().refused == ()
        assert [(each.id, each.version) for each in flow.status()] == [("echo", 1)]
    with open_flow(echo, settings={"feature_backend": "memory"}) as flow:
        with pytest.raises(InvalidInput, match="watch=True"):
            flow.status()
        with pytest.raises(InvalidInput, match="watch=True"):
            flow.reload()
