"""The directory store: files, folders, locks and what survives a crash."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from inferflow.configstore import DirectoryStore, Draft, Unreadable
from inferflow.configstore.lock import locked
from inferflow.errors import ConfigStoreBusy, ConfigStoreFailed, Fault, InvalidInput

from ...robustness.scenario import StartScenario

HERE = Path(__file__).parent
TEXT = "response_config: {count: 0}\n"


@pytest.fixture
def configs(tmp_path: Path) -> Path:
    (tmp_path / "configs").mkdir()
    return tmp_path / "configs"


@pytest.fixture
def store(configs: Path) -> DirectoryStore:
    return DirectoryStore(configs, configs.parent / "history")


def push(store: DirectoryStore, text: str = TEXT, config_id: str = "ranker") -> None:
    store.push(Draft(config_id, text, "yaml", "ann"))


def run(script: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, str(HERE / script), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(process: subprocess.Popen[str]) -> str:
    out, error = process.communicate(timeout=60)
    assert process.returncode == 0, error
    return out


# --- files ----------------------------------------------------------------------------------


def test_a_config_stays_in_the_file_people_gave_it(store: DirectoryStore, configs: Path) -> None:
    (configs / "shop.yml").write_text("ranker: {response_config: {count: 1}}\n")
    push(store, "ranker: {response_config: {count: 2}}\n")
    assert [path.name for path in configs.iterdir()] == ["shop.yml"]
    assert store.get("ranker").file == "configs/shop.yml"


def test_another_format_takes_another_file_and_the_old_one_goes(
    store: DirectoryStore, configs: Path
) -> None:
    push(store)
    store.push(Draft("ranker", '{"response_config": {}}', "json", "ann"))
    assert [path.name for path in configs.iterdir()] == ["ranker.json"]


def test_a_file_of_several_configs_has_a_history_for_each_and_is_not_pushed_over(
    store: DirectoryStore, configs: Path
) -> None:
    written = "a: {response_config: {count: 1}}\nb: {response_config: {count: 2}}\n"
    (configs / "both.yaml").write_text(written)
    assert store.accept(store.current().documents.values())
    assert json.loads(store.text(store.history("b")[0])) == {"b": {"response_config": {"count": 2}}}
    (configs / "both.yaml").write_text(written.replace("count: 2", "count: 3"))
    assert store.accept(store.current().documents.values())
    assert [len(store.history(config_id)) for config_id in "ab"] == [1, 2]
    with pytest.raises(InvalidInput, match="holds other configs beside 'a'"):
        push(store, config_id="a")


def test_a_file_that_is_another_config_s_is_not_written_over(
    store: DirectoryStore, configs: Path
) -> None:
    (configs / "ranker.yaml").write_text("other: {response_config: {}}\n")
    with pytest.raises(InvalidInput, match="holds another config"):
        push(store)
    assert list(store.current().documents) == ["other"]


def test_of_two_files_with_one_config_the_first_counts_and_the_other_is_told(
    store: DirectoryStore, configs: Path
) -> None:
    (configs / "ranker.json").write_text('{"response_config": {"count": 1}}')
    (configs / "ranker.yaml").write_text(TEXT)
    folder = store.current()
    assert folder.documents["ranker"].file == "configs/ranker.json"
    assert folder.unreadable == (
        Unreadable("configs/ranker.yaml", "ranker", "'ranker' is also in configs/ranker.json"),
    )
    with pytest.raises(InvalidInput, match="mend or delete"):
        push(store)


def test_what_editors_leave_lying_about_is_no_config(store: DirectoryStore, configs: Path) -> None:
    for name in (".ranker.yaml.swp", ".#ranker.yaml", "ranker.yaml~", ".ranker.yaml"):
        (configs / name).write_text("{")
    assert store.current().documents == {}
    assert store.current().unreadable == ()


def test_a_file_keeps_its_permissions(store: DirectoryStore, configs: Path) -> None:
    push(store)
    (configs / "ranker.yaml").chmod(0o664)
    push(store)
    assert (configs / "ranker.yaml").stat().st_mode & 0o777 == 0o664


# --- history --------------------------------------------------------------------------------


def test_a_line_that_was_never_finished_never_happened(
    store: DirectoryStore, configs: Path
) -> None:
    push(store)
    journal = configs.parent / "history" / "journal.jsonl"
    with journal.open("a") as file:
        file.write('{"id": "ranker", "number": 2, "ha')
    assert len(DirectoryStore(configs, journal.parent).history("ranker")) == 1
    push(store)
    assert [each.number for each in store.history("ranker")] == [1, 2]


def test_a_damaged_history_is_told_with_its_line(store: DirectoryStore, configs: Path) -> None:
    push(store)
    push(store)
    journal = configs.parent / "history" / "journal.jsonl"
    first, second = journal.read_text().splitlines()
    journal.write_text(f"{first}\n{second[:20]}\n")
    with pytest.raises(ConfigStoreFailed, match=r"journal.jsonl, line 2"):
        DirectoryStore(configs, journal.parent).history("ranker")


def test_a_damaged_text_is_not_given_out(store: DirectoryStore, configs: Path) -> None:
    push(store)
    (version,) = store.history("ranker")
    (configs.parent / "history" / "texts" / version.hash).write_text("something else")
    with pytest.raises(ConfigStoreFailed, match="was changed on disk"):
        store.text(version)


def test_equal_texts_are_kept_once(store: DirectoryStore, configs: Path) -> None:
    for _ in range(5):
        push(store)
    assert len(list((configs.parent / "history" / "texts").iterdir())) == 1


def test_a_history_that_cannot_be_written_fails_clearly_and_changes_nothing(
    store: DirectoryStore, configs: Path
) -> None:
    (configs.parent / "history").write_text("in the way")
    with pytest.raises(ConfigStoreFailed, match="history: File exists"):
        push(store)
    assert list(configs.iterdir()) == []


def test_an_id_that_no_file_can_have_is_pushed_where_it_is(
    store: DirectoryStore, configs: Path
) -> None:
    with pytest.raises(InvalidInput, match="put the config into a file of another name"):
        push(store, config_id="team:a/ranker")
    (configs / "team_a.yaml").write_text("team:a/ranker: {response_config: {}}\n")
    push(store, "team:a/ranker: {response_config: {count: 1}}\n", "team:a/ranker")
    assert [path.name for path in configs.iterdir()] == ["team_a.yaml"]
    assert len(store.history("team:a/ranker")) == 2


# --- one at a time --------------------------------------------------------------------------


def test_one_who_waits_too_long_is_told_and_has_changed_nothing(configs: Path) -> None:
    history = configs.parent / "history"
    history.mkdir()
    store = DirectoryStore(configs, history, lock_timeout_s=0)
    with locked(history / "lock", timeout_s=0), pytest.raises(ConfigStoreBusy) as refused:
        push(store)
    assert refused.value.fault is Fault.BUSY
    assert list(configs.iterdir()) == []
    push(store)


def test_processes_that_count_up_lose_no_count(
    store: DirectoryStore, configs: Path, scenario: StartScenario
) -> None:
    tried = scenario("K4", "three processes change one config 25 times each")
    push(store)
    for process in [run("counter.py", configs.parent, 25) for _ in range(3)]:
        ended(process)
    counted = store.get("ranker").content["response_config"]["count"]
    tried.at_most("changes lost", 75 - counted, 0)
    assert counted == 75
    texts = [store.text(each) for each in store.history("ranker")]
    assert texts == [f"response_config: {{count: {n}}}\n" for n in range(76)]


def test_a_push_that_is_killed_anywhere_happened_wholly_or_not_at_all(
    tmp_path: Path, scenario: StartScenario
) -> None:
    tried = scenario("A16", "a push of a config killed at each step, whole or not at all")
    steps = int(ended(run("crash_pusher.py", tmp_path, "steps")))
    tried.at_least("steps at which it was killed", steps, 11)


def test_history_is_readable_however_often_pushers_are_killed(tmp_path: Path) -> None:
    assert int(ended(run("crash_pusher.py", tmp_path, 20))) >= 40
