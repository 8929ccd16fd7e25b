"""Configs as they are, were and might be."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from inferflow.api.gateway.management.config_shapes import (
    CheckedConfig,
    ConfigText,
    PlanDocument,
    PublishedConfig,
    Validated,
)
from inferflow.api.gateway.management.ports import Text
from inferflow.app.backoffice.bench import SharedBenches
from inferflow.app.backoffice.configs import ProjectConfigs
from inferflow.app.backoffice.pages import OwnPages
from inferflow.app.recordings.keeper import Keeper
from inferflow.app.recordings.pages import LocalPages
from inferflow.app.reload import Reloader
from inferflow.app.watching import open_reloading
from inferflow.errors import (
    GoldenFailed,
    InvalidInput,
    NotFound,
    PlanRejected,
    VersionConflict,
)

T = TypeVar("T")
FILE = "configs/ranker.yaml"


def done(asking: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(asking)


@pytest.fixture
def served(starter: Path) -> Iterator[tuple[ProjectConfigs, Reloader]]:
    embedded, reloader = open_reloading(starter)
    pages = LocalPages(Keeper(), reloader.status, lambda: embedded.book)
    yield ProjectConfigs(starter, None, SharedBenches(embedded), OwnPages(pages)), reloader
    reloader.close()
    embedded.close()


@pytest.fixture
def configs(served: tuple[ProjectConfigs, Reloader]) -> ProjectConfigs:
    return served[0]


def text_of(root: Path) -> str:
    return (root / FILE).read_text()


def published(configs: ProjectConfigs, text: str, **more: Any) -> dict[str, Any]:
    order = {"author": "ann", "expected": None, "note": "", "force": False, **more}
    return done(configs.publish("ranker", Text(text, "yaml"), **order))


def test_a_config_is_told_as_it_is_written_and_as_it_serves(
    starter: Path, configs: ProjectConfigs
) -> None:
    told = done(configs.get("ranker"))
    ConfigText.model_validate(told)
    assert (told["text"], told["format"], told["version"]) == (text_of(starter), "yaml", 1)
    assert told["status"]["state"] == "serving"
    assert done(configs.statuses()) == [told["status"]]
    with pytest.raises(NotFound, match="did you mean 'ranker'"):
        done(configs.get("rankr"))


def test_a_file_that_cannot_be_read_is_still_shown_to_be_mended(
    starter: Path, served: tuple[ProjectConfigs, Reloader]
) -> None:
    configs, reloader = served
    (starter / FILE).write_text("ranker: [")
    reloader.check_now()
    told = done(configs.get("ranker"))
    assert (told["text"], told["hash"]) == ("ranker: [", "")
    assert told["status"]["state"] == "last good"


def test_the_plan_says_who_reads_what(configs: ProjectConfigs) -> None:
    plan = done(configs.plan("ranker"))
    PlanDocument.model_validate(plan)
    nodes = {node["id"]: node for node in plan["nodes"]}
    assert {node["kind"] for node in nodes.values()} == {"init", "feature", "model", "compute"}
    written = {each["column"]: each for each in nodes["fs_user"]["writes"]}
    assert written["user:profile:likes_new"]["read_by"] == ["like_model", "pick"]
    assert nodes["like_model"]["facts"]["model"] == "like_model@1 (local)"
    assert nodes["like_model"]["facts"]["versions"] == "1"
    assert {"from": "like_model", "to": "pick"} in plan["edges"]
    assert plan["inputs"]["entities"] == ["user", "book"]
    assert "book:facts:price" in plan["inputs"]["features"]
    assert plan["response_columns"][-1] == "pick:score"
    with pytest.raises(NotFound):
        done(configs.plan("other"))


def test_a_text_is_validated_and_nothing_is_written(starter: Path, configs: ProjectConfigs) -> None:
    text = text_of(starter)
    good = done(configs.validate(Text(text, "yaml"), ""))
    Validated.model_validate(good)
    assert (good["ok"], good["id"], good["plan"]["id"]) == (True, "ranker", "ranker")
    bad = text.replace("            book:facts:price: FP32", "            book:facts:prize: FP32")
    told = done(configs.validate(Text(bad, "yaml"), "ranker"))
    (problem,) = [each for each in told["problems"] if each["severity"] == "error"]
    line = bad.splitlines().index("            book:facts:prize: FP32") + 1
    assert (told["ok"], told["plan"]) == (False, None)
    assert (problem["line"], problem["column"]) == (line, 13)
    assert text_of(starter) == text
    assert len(done(configs.history("ranker"))) == 1


@pytest.mark.parametrize(
    ("text", "format", "line"),
    [("ranker: [", "yaml", 2), ("{", "json", 1), ("other: {a: 1}", "yaml", None)],
)
def test_a_text_that_is_no_config_has_its_place_too(
    configs: ProjectConfigs, text: str, format: Any, line: int | None
) -> None:
    told = done(configs.validate(Text(text, format), "ranker"))
    assert (told["ok"], told["problems"][0]["line"]) == (False, line)
    checked = done(configs.check("ranker", Text(text, format)))
    CheckedConfig.model_validate(checked)
    assert (checked["ok"], checked["golden"]) == (False, [])


def test_a_check_tells_all_that_publishing_would_meet(
    starter: Path, configs: ProjectConfigs
) -> None:
    text = text_of(starter)
    same = done(configs.check("ranker", Text(text, "yaml")))
    CheckedConfig.model_validate(same)
    assert (same["ok"], same["diff"]) == (True, [])
    assert [(each["request"], each["passed"]) for each in same["golden"]] == [("ranker", True)]
    other = text.replace("data_type: FP32", "data_type: FP16")
    told = done(configs.check("ranker", Text(other, "yaml")))
    assert (told["ok"], told["golden"][0]["passed"]) == (False, False)
    assert told["golden"][0]["difference"] > 0
    assert "+        data_type: FP16" in told["diff"]
    broken = text.replace("compute_id: pick", "compute_id: pock")
    told = done(configs.check("ranker", Text(broken, "yaml")))
    assert (told["ok"], told["golden"]) == (False, [])
    assert told["problems"][0]["line"] is not None
    assert text_of(starter) == text


def test_a_check_loads_no_features_that_have_changed_since(
    starter: Path, configs: ProjectConfigs
) -> None:
    rows = starter / "features/user.profile.csv"
    rows.write_text(rows.read_text().replace("0.", "0.9"))
    told = done(configs.check("ranker", Text(text_of(starter), "yaml")))
    assert told["ok"]
    with pytest.raises(GoldenFailed):  # a push does
        published(configs, text_of(starter))


def test_a_split_is_checked_by_those_it_stands_for(starter: Path, configs: ProjectConfigs) -> None:
    request = json.loads((starter / "requests/ranker.json").read_text())
    (starter / "requests/split.json").write_text(json.dumps({**request, "model_config_id": "ab"}))
    text = json.dumps({"ab": {"ab": {"ranker": 100}}})
    told = done(configs.check("ab", Text(text, "json")))
    assert (told["ok"], [each["request"] for each in told["golden"]]) == (True, ["split"])


def test_a_published_config_is_the_newest_version_with_its_author(
    starter: Path, configs: ProjectConfigs
) -> None:
    text = text_of(starter) + "# better\n"
    told = published(configs, text, expected=1, note="why")
    PublishedConfig.model_validate(told)
    assert told["version"]["number"] == 2
    assert (told["version"]["author"], told["version"]["note"]) == ("ann", "why")
    assert told["version"]["checks"] == "golden"
    assert text_of(starter) == text
    newest, first = done(configs.history("ranker"))
    assert (newest["is_current"], first["is_current"]) == (True, False)
    assert done(configs.version("ranker", 2))["text"] == text
    assert done(configs.difference("ranker", 1, 2))["lines"][-1] == "+# better"
    back = done(configs.roll_back("ranker", author="bob", to=None, expected=2))
    assert (back["version"]["number"], back["version"]["origin"]) == (3, "rollback")
    assert text_of(starter) + "# better\n" == text


def test_what_is_refused_changes_nothing(starter: Path, configs: ProjectConfigs) -> None:
    text = text_of(starter)
    with pytest.raises(VersionConflict) as conflict:
        published(configs, text + "# x\n", expected=7)
    assert conflict.value.current == 1
    with pytest.raises(PlanRejected) as rejected:
        published(configs, text.replace("compute_id: pick", "compute_id: pock"))
    assert rejected.value.problems[0].line is not None  # type: ignore[attr-defined]
    with pytest.raises(GoldenFailed):
        published(configs, text.replace("data_type: FP32", "data_type: FP16"))
    with pytest.raises(InvalidInput, match="not 'ranker'"):
        published(configs, text.replace("ranker:\n", "other:\n"))
    with pytest.raises(VersionConflict):
        done(configs.roll_back("ranker", author="ann", to=1, expected=9))
    assert text_of(starter) == text


def test_a_forced_one_is_published_and_says_so(starter: Path, configs: ProjectConfigs) -> None:
    text = text_of(starter).replace("data_type: FP32", "data_type: FP16")
    told = published(configs, text, force=True)
    assert told["version"]["checks"] == "forced"
    assert told["golden"][0]["passed"] is False


def test_versions_that_never_were_are_not_found(configs: ProjectConfigs) -> None:
    with pytest.raises(NotFound):
        done(configs.version("ranker", 9))
    with pytest.raises(NotFound):
        done(configs.difference("ranker", 1, 9))
    with pytest.raises(NotFound):
        done(configs.history("other"))


def test_an_id_that_stands_for_several_has_no_plan_of_its_own(
    starter: Path, served: tuple[ProjectConfigs, Reloader]
) -> None:
    configs, reloader = served
    text = json.dumps({"test": {"ab": {"ranker": 100}}})
    told = done(configs.validate(Text(text, "json"), ""))
    assert (told["ok"], told["id"], told["plan"]) == (True, "test", None)
    assert reloader.status()
