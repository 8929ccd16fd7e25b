"""What `validate` finds, file by file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from inferflow.app.checking import check_file, check_project, is_project, project_of
from inferflow.app.project import Finding
from inferflow.errors import InvalidInput


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


def told(findings: list[Finding]) -> str:
    return "\n".join(map(str, findings))


def errors(findings: list[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.problem.is_error]


@pytest.mark.parametrize(
    ("file", "old", "new", "what"),
    [
        (
            "configs/ranker.yaml",
            "book:facts:price: FP32",
            "book:facts:prise: FP32",
            "closest: 'book:facts:price'",
        ),
        (
            "configs/ranker.yaml",
            "model_name: like_model",
            "model_name: lke_model",
            "closest: 'like_model'",
        ),
        ("configs/ranker.yaml", "compute_id: pick", "compute_id: pik", "closest: 'pick'"),
        (
            "configs/ranker.yaml",
            "book:facts:rating: FP32",
            "book:facts:years_old: FP32\n            book:facts:rating: FP32",
            "like_model",
        ),
        ("expressions.yaml", "likes_new /", "likes_new + /", "pick"),
        ("features/schema.yaml", "dtype: INT32", "dtype: INT33", "years_old"),
        ("features/book.facts.csv", "rating", "ratings", "did you mean 'rating'"),
        ("features/book.facts.csv", "book_id", "id", "no column 'book_id'"),
        ("requests/ranker.json", '"ranker"', '"rankr"', "closest: 'ranker'"),
        ("requests/ranker.json", '"user"', '"usr"', "gives key column 'context:user:user_id'"),
        ("requests/ranker.json", '"pick:score"', '"pick:scor"', "closest: 'pick:score'"),
        ("requests/ranker.json", '"entities"', '"entites"', "closest: 'entities'"),
        ("requests/ranker.json", '"tracking_id": ', "", "not valid JSON"),
        ("requests/ranker.json", "1e-05", '"much"', "tolerance"),
    ],
)
def test_a_mistake_is_found_in_its_file(
    starter: Path, file: str, old: str, new: str, what: str
) -> None:
    replace(starter / file, old, new)
    found = [finding for finding in errors(check_project(starter)) if finding.file == file]
    assert what in told(found)


def test_a_broken_schema_is_reported_and_the_rest_is_still_looked_at(starter: Path) -> None:
    (starter / "features/schema.yaml").write_text("entities: [", "utf-8")
    replace(starter / "expressions.yaml", "likes_new /", "likes_new + /")
    files = {finding.file for finding in errors(check_project(starter))}
    assert {"features/schema.yaml", "expressions.yaml"} <= files


def test_every_wrong_column_of_a_feature_file_is_told(starter: Path) -> None:
    replace(starter / "features/book.facts.csv", "price,rating", "prize,ratings")
    found = told(check_project(starter))
    assert "'prize'" in found
    assert "'ratings'" in found


def test_a_feature_file_of_no_entity_or_group_is_told(starter: Path) -> None:
    (starter / "features/boook.facts.csv").write_text("book_id,price\n1,2\n")
    (starter / "features/book.fact.csv").write_text("book_id,price\n1,2\n")
    found = told(check_project(starter))
    assert "did you mean 'book'" in found
    assert "did you mean 'facts'" in found


def test_a_feature_file_with_only_keys_is_told(starter: Path) -> None:
    (starter / "features/book.facts.csv").write_text("book_id\n1\n")
    assert "there is no feature besides the key" in told(check_project(starter))


def test_the_rows_of_a_feature_file_are_not_read(starter: Path) -> None:
    with (starter / "features/book.facts.csv").open("a") as file:
        file.write("13,not,a,row,at,all\n")
    assert check_project(starter) == []


def test_the_columns_of_a_parquet_file_are_checked_too(starter: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    (starter / "features/book.facts.csv").unlink()
    parquet.write_table(
        pa.table({"book_id": ["1"], "prize": [2.0]}), starter / "features/book.facts.parquet"
    )
    assert "did you mean 'price'" in told(check_project(starter))


def test_wrong_settings_are_a_finding_like_any_other(starter: Path) -> None:
    (starter / "inferflow.toml").write_text("cache_size = 3\n")
    (found,) = errors(check_project(starter))
    assert found.file == "inferflow.toml"
    assert "cache_size" in str(found)


def test_a_request_of_a_config_with_problems_is_not_blamed(starter: Path) -> None:
    replace(starter / "configs/ranker.yaml", "compute_id: pick", "compute_id: pik")
    assert {finding.file for finding in check_project(starter)} == {"configs/ranker.yaml"}


def test_a_project_without_a_schema_has_no_schema_problem(starter: Path) -> None:
    (starter / "features/schema.yaml").unlink()
    assert "features/schema.yaml" not in {finding.file for finding in check_project(starter)}


# --- single files ---------------------------------------------------------------------------


def test_one_config_is_checked_alone(starter: Path) -> None:
    good = starter / "configs/ranker.yaml"
    bad = starter / "configs/other.yaml"
    bad.write_text(good.read_text("utf-8").replace("ranker:", "other:", 1), "utf-8")
    replace(bad, "compute_id: pick", "compute_id: pik")
    assert check_file(good, starter) == []
    assert "closest: 'pick'" in told(check_file(bad, starter))


def test_a_config_from_elsewhere_is_checked_against_the_project(
    starter: Path, tmp_path: Path
) -> None:
    candidate = tmp_path / "candidate.yaml"
    candidate.write_text((starter / "configs/ranker.yaml").read_text("utf-8"), "utf-8")
    assert check_file(candidate, starter) == []
    replace(candidate, "compute_id: pick", "compute_id: pik")
    (found,) = check_file(candidate, starter)
    assert found.file == str(candidate.resolve())


def test_a_config_is_told_when_what_it_rests_on_is_broken(starter: Path) -> None:
    replace(starter / "expressions.yaml", "likes_new /", "likes_new + /")
    files = [finding.file for finding in check_file(starter / "configs/ranker.yaml", starter)]
    assert "expressions.yaml" in files


def test_any_other_file_of_a_project_can_be_checked(starter: Path) -> None:
    replace(starter / "requests/ranker.json", '"user"', '"usr"')
    replace(starter / "features/book.facts.csv", "rating", "ratings")
    (found,) = check_file(starter / "requests/ranker.json", starter)
    assert found.file == "requests/ranker.json"


def test_a_file_that_is_no_config_is_refused(starter: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("")
    with pytest.raises(InvalidInput, match=r"\.json, \.yaml"):
        check_file(tmp_path / "notes.txt", starter)
    with pytest.raises(InvalidInput, match="no such file"):
        check_file(tmp_path / "gone.yaml", starter)


def test_the_project_of_a_file_is_the_nearest_one_above_it(starter: Path, tmp_path: Path) -> None:
    assert project_of(starter / "configs/ranker.yaml") == starter.resolve()
    assert is_project(starter)
    assert not is_project(tmp_path)
    (tmp_path / "loose").mkdir()
    with pytest.raises(InvalidInput, match="--dir"):
        project_of(tmp_path / "loose" / "ranker.yaml")


def test_every_finding_is_plain_data(starter: Path) -> None:
    replace(starter / "configs/ranker.yaml", "compute_id: pick", "compute_id: pik")
    (found,) = [finding.as_dict() for finding in check_project(starter)]
    assert json.loads(json.dumps(found)) == found
    assert found["config_id"] == "ranker"
    assert found["severity"] == "error"
