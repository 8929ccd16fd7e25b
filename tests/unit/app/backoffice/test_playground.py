"""Scoring without a trace, as it is and as it would be."""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from inferflow.api.gateway.management.play_shapes import Played
from inferflow.app.backoffice.bench import Bench, SharedBenches
from inferflow.app.backoffice.playground import BenchPlayground
from inferflow.app.wiring import Embedded, open_embedded
from inferflow.errors import InvalidRequest, NotFound, PlanRejected
from inferflow.explanation.json_text import plain

BOOKS = ["1", "2", "3"]
REQUEST = {"tracking_id": "t", "entities": {"user": "ada", "book": BOOKS}}

Facts = dict[str, Any]


def played(
    benches: SharedBenches, request: Facts = REQUEST, item: str | None = None, **overrides: Any
) -> Facts:
    playground = BenchPlayground(benches)
    return asyncio.run(playground.play("ranker", request, item=item, overrides=overrides))


def scores(answer: Facts, column: str = "pick:score") -> list[float]:
    return [target["scores"][column] for target in answer["targets"]]


def value(column: str, value: Any, target: str | None = None) -> Facts:
    return {"column": column, "id": target, "value": value}


def all_rows(embedded: Embedded) -> list[tuple[bytes, bytes]]:
    return list(embedded.store.backend.scan(b""))


def test_a_request_is_answered_as_it_is_by_those_who_serve(
    embedded: Embedded, benches: SharedBenches
) -> None:
    from inferflow.app.flow import Flow

    told = played(benches)
    served = Flow(embedded).score("ranker", user="ada", book=BOOKS)
    assert np.float32(scores(told["answer"])).tolist() == served["pick:score"].tolist()
    assert told["answer"]["tracking_id"] == "t"
    assert (told["baseline"], told["item"]) == (None, None)
    assert [step["step"] for step in told["run"]["steps"]][-1] == "pick"


def test_nothing_that_is_stored_changes_whatever_is_tried(
    embedded: Embedded, benches: SharedBenches
) -> None:
    before = all_rows(embedded)
    assert before
    text = (embedded.project.root / "configs/ranker.yaml").read_text()
    other = {"text": text.replace("FP32Vector", "FP32"), "models": {"like_model": "1"}}
    values = [value("user:profile:likes_new", 0.1), value("book:facts:price", 1.0, "2")]
    told = played(benches, item="2", values=values, **other)
    assert scores(told["answer"]) != scores(told["baseline"])
    stranger = {"entities": {"user": "nobody", "book": ["new", "2"]}}
    played(benches, stranger, values=[value("user:profile:likes_new", 0.9)])
    assert all_rows(embedded) == before
    assert len(embedded.cache) == 0


def test_another_value_of_one_key_shows_only_where_that_key_is_read(
    benches: SharedBenches,
) -> None:
    told = played(benches, item="2", values=[value("book:facts:price", 1.0, "2")])
    was, is_now = scores(told["baseline"]), scores(told["answer"])
    assert [a == b for a, b in zip(was, is_now, strict=True)] == [True, False, True]
    (row,) = told["item"]["rows"]
    columns = {each["column"]: each for each in row["columns"]}
    assert columns["book:facts:price"]["value"] == 1.0
    assert columns["book:facts:price"]["state"] == "pinned"
    assert "age_s" not in columns["book:facts:price"]
    assert columns["book:facts:rating"]["state"] == "real"


def test_another_value_of_the_user_shows_on_every_row(benches: SharedBenches) -> None:
    everywhere = played(benches, values=[value("user:profile:likes_new", 1.0)])
    by_item = played(benches, values=[value("user:profile:likes_new", 1.0, "2")])
    assert scores(everywhere["answer"]) == scores(by_item["answer"])
    assert all(
        a != b
        for a, b in zip(scores(everywhere["answer"]), scores(everywhere["baseline"]), strict=True)
    )


def test_what_if_gives_what_the_store_would_give_if_it_held_the_value(
    embedded: Embedded, benches: SharedBenches
) -> None:
    told = played(benches, values=[value("book:facts:years_old", 0, "3")])
    embedded.store.put("book", "facts", [{"book_id": "3", "years_old": 0}])
    assert scores(told["answer"]) == scores(played(benches)["answer"])


class _Writing:
    """A store that somebody writes to after every read."""

    is_local = True

    def __init__(self, embedded: Embedded) -> None:
        self._store = embedded.store
        self._reader = embedded.features.over(embedded.store)
        self.reads = 0

    def prepare(self, read: Any) -> Any:
        prepared, told = self._reader.prepare(read), self

        class Prepared:
            async def fetch(self, keys: Any, *, deadline: Any) -> Any:
                found = await prepared.fetch(keys, deadline=deadline)
                told.reads += 1
                told._store.put("user", "profile", [{"user_id": "ada", "likes_new": told.reads}])
                return found

        return Prepared()


def test_both_runs_of_a_comparison_see_the_store_of_one_moment(
    embedded: Embedded, benches: SharedBenches, monkeypatch: pytest.MonkeyPatch
) -> None:
    writing = _Writing(embedded)

    class Written(Bench):
        def __init__(self, embedded: Embedded) -> None:
            super().__init__(embedded)
            self.ports = replace(self.ports, features=writing)

    monkeypatch.setattr(benches, "bench", lambda: Written(embedded))
    told = played(benches, models={"like_model": "1"})
    assert writing.reads > 0
    assert told["answer"] == told["baseline"]


def test_what_is_told_is_what_is_declared(benches: SharedBenches) -> None:
    told = played(benches, item="2", values=[value("user:profile:likes_new", 3)])
    assert Played.model_validate(told).model_dump(exclude_unset=True) == plain(told)


def test_a_key_the_store_has_never_seen_can_have_a_value_too(benches: SharedBenches) -> None:
    request = {"entities": {"user": "ada", "book": ["new"]}}
    told = played(benches, request, item="new", values=[value("book:facts:price", 3.0, "new")])
    columns = {each["column"]: each for each in told["item"]["rows"][0]["columns"]}
    assert (columns["book:facts:price"]["value"], columns["book:facts:price"]["state"]) == (
        3.0,
        "pinned",
    )
    assert (columns["book:facts:rating"]["value"], columns["book:facts:rating"]["state"]) == (
        3.5,
        "default",
    )


def test_the_matrix_grows_in_the_order_of_the_steps(benches: SharedBenches) -> None:
    request = {"entities": {"user": "nobody", "book": BOOKS}}
    matrix = played(benches, request)["matrix"]
    ended = [column["at_us"] for column in matrix["columns"]]
    assert ended == sorted(ended)
    columns = {column["column"]: column for column in matrix["columns"]}
    assert columns["user:profile:likes_new"]["defaults"] == 3
    assert columns["user:profile:likes_new"]["sample"] == ["0.5"] * 3
    assert columns["book:facts:price"]["defaults"] == 0
    assert columns["book:facts:price"]["min"] <= columns["book:facts:price"]["max"]
    assert columns["book:facts:title"]["min"] is None
    assert (matrix["rows"], matrix["ids"]) == (3, BOOKS)


def test_another_text_is_another_plan(embedded: Embedded, benches: SharedBenches) -> None:
    text = (embedded.project.root / "configs/ranker.yaml").read_text()
    told = played(benches, text=text.replace("      - like_model:like\n", ""))
    assert "like_model:like" in told["baseline"]["columns"]
    assert "like_model:like" not in told["answer"]["columns"]


def test_another_version_of_a_model_is_chosen_by_model_or_step(starter: Path) -> None:
    shutil.copytree(starter / "models/like_model/1", starter / "models/like_model/2")
    embedded = open_embedded(starter)
    try:
        benches = SharedBenches(embedded)
        told = played(benches, models={"like_model": "1"})
        step = next(each for each in told["run"]["steps"] if each["step"] == "like_model")
        assert step["answered_by"].endswith("@1")
        with pytest.raises(InvalidRequest, match="has no version '9'"):
            played(benches, models={"like_model": "9"})
        with pytest.raises(InvalidRequest, match="closest: 'like_model'"):
            played(benches, models={"like_modell": "1"})
    finally:
        embedded.close()


def test_what_a_request_brings_can_be_changed_too(tmp_path: Path, echo: Path) -> None:
    embedded = open_embedded(echo)
    try:
        playground = BenchPlayground(SharedBenches(embedded))
        request = {
            "entities": {"item": ["a", "b"]},
            "context": {"name": "ann"},
            "features": {"item": {"x": [1.0, 2.0]}},
        }

        def echoed(*values: Facts) -> list[Any]:
            told = asyncio.run(
                playground.play("echo", request, item=None, overrides={"values": list(values)})
            )
            return [list(each["scores"].values()) for each in told["answer"]["targets"]]

        assert echoed(value("x", 5.0, "b")) == [[1.0, "ann"], [5.0, "ann"]]
        assert echoed(value("x", 5.0)) == [[5.0, "ann"], [5.0, "ann"]]
        assert echoed(value("name", "bob"), value("x", 3.0, "a")) == [[3.0, "bob"], [2.0, "bob"]]
    finally:
        embedded.close()


@pytest.mark.parametrize(
    ("wish", "field", "what"),
    [
        (value("user:profile:likes_ne", 1), "overrides.values[0].column", "closest"),
        (value("pick:score", 1), "overrides.values[0].column", "change what it reads"),
        (value("user:profile:likes_new", "much"), "overrides.values[0].value", "read"),
        (value("book:facts:price", 1, "99"), "overrides.values[0].id", "no target '99'"),
        (value("context:user:user_id", "bob"), "overrides.values[0].column", "entities"),
    ],
)
def test_what_cannot_be_changed_is_refused_with_its_place(
    benches: SharedBenches, wish: Facts, field: str, what: str
) -> None:
    with pytest.raises(InvalidRequest, match=what) as refused:
        played(benches, values=[wish])
    assert refused.value.field == field


def test_a_text_that_cannot_serve_says_all_that_is_wrong(
    embedded: Embedded, benches: SharedBenches
) -> None:
    text = (embedded.project.root / "configs/ranker.yaml").read_text()
    with pytest.raises(PlanRejected) as refused:
        played(benches, text=text.replace("book:facts:price", "book:facts:prize"))
    assert len(refused.value.problems) >= 2
    with pytest.raises(InvalidRequest, match="not 'ranker'"):
        played(benches, text="other: {response_config: {}}")


def test_an_item_or_config_that_is_not_there_is_said(benches: SharedBenches) -> None:
    with pytest.raises(InvalidRequest, match="no target '99'"):
        played(benches, item="99")
    with pytest.raises(NotFound):
        asyncio.run(BenchPlayground(benches).play("rankr", REQUEST, item=None, overrides={}))


def test_samples_are_requests_without_what_they_expect(
    starter: Path, benches: SharedBenches
) -> None:
    (starter / "requests/broken.json").write_text("{")
    (starter / "requests/list.json").write_text("[]")
    playground = BenchPlayground(benches)
    (sample,) = asyncio.run(playground.samples("ranker"))
    assert sample["name"] == "ranker"
    assert sample["request"].keys() == {"model_config_id", "tracking_id", "entities"}
    assert asyncio.run(playground.samples("")) == [sample]
    assert asyncio.run(playground.samples("other")) == []


def test_requests_are_tried_one_after_another(embedded: Embedded) -> None:
    class Counted(SharedBenches):
        under_way = most = 0

        def bench(self) -> Bench:
            self.under_way += 1
            self.most = max(self.most, self.under_way)
            return super().bench()

    benches = Counted(embedded)
    playground = BenchPlayground(benches)

    async def play() -> None:
        await playground.play("ranker", REQUEST, item=None, overrides={})
        benches.under_way -= 1

    async def several() -> None:
        await asyncio.gather(*(play() for _ in range(5)))

    asyncio.run(several())
    assert benches.most == 1
