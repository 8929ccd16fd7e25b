"""A problem's `where` found again in the text it is about."""

from __future__ import annotations

import json

import pytest

from inferflow.errors import InvalidInput
from inferflow.plan.document import parse_document
from inferflow.plan.positions import Located, Position, Positions, failed_at
from inferflow.plan.problems import Problem

YAML = """\
# a comment
ranker:
  dag_execution_config:
    component_dependency: {feature_initializer: [fs_user]}
  component_config:
    feature_component_config:
      fs_user:
        fs_keys: {schema: [user_id], col: "context:user:user_id"}
        fs_request:
          feature_groups:
            - {label: profile, feature_labels: [age]}
    predator_components:
      - component: model.v2
        inputs:
          feature_map:
            user:profile:agee: FP32
  response_config:
    features: [one, two]
"""


@pytest.mark.parametrize(
    ("where", "line", "column"),
    [
        ("fs_user.fs_keys.col[0]", 8, 38),
        ("fs_user.fs_request.feature_groups[0].feature_labels", 11, 32),
        ("model.v2.inputs.feature_map['user:profile:agee']", 16, 13),
        ("component_config.fs_user", 7, 7),
        ("component_config.feature_component_config.fs_user.missing", 7, 7),
        ("response_config.features[1]", 18, 21),
        ("dag_execution_config.component_dependency", 4, 5),
        ("config", 2, 1),
        ("nobody.knows", 2, 1),
    ],
)
def test_a_problem_is_shown_where_it_was_written(where: str, line: int, column: int) -> None:
    assert Positions(YAML, "ranker").of(where) == Position(line, column)


def test_json_has_places_too_also_when_it_is_indented_with_tabs() -> None:
    text = json.dumps({"response_config": {"features": ["a"]}}, indent="\t")
    assert Positions(text, "ranker").of("response_config.features") == Position(3, 3)


def test_a_config_without_its_id_begins_where_the_text_does() -> None:
    assert Positions("response_config: {}\n", "ranker").of("config") == Position(1, 1)


def test_a_located_problem_says_all_the_problem_said() -> None:
    problem = Problem("fs_user.fs_keys", "what", "hint", "note")
    located = Positions(YAML, "ranker").located(problem)
    assert located == Located("fs_user.fs_keys", "what", "hint", "note", 8, 9)


@pytest.mark.parametrize(
    ("text", "is_json", "at"),
    [('{"a": 1,\n  b}', True, Position(2, 3)), ("a: 1\nb: [1\nc: 2\n", False, Position(3, 2))],
)
def test_a_text_that_is_not_well_formed_says_where(text: str, is_json: bool, at: Position) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_document(text, name="x", is_json=is_json)
    assert failed_at(refused.value) == at


def test_a_refusal_without_a_place_has_none() -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_document('{"a": 1, "a": 2}', name="x", is_json=True)
    assert failed_at(refused.value) is None
