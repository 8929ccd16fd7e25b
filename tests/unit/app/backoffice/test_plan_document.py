"""A plan as a picture needs it."""

from __future__ import annotations

from pathlib import Path

import pytest

from inferflow.api.gateway.management.config_shapes import PlanDocument
from inferflow.app.backoffice.plan_document import plan_document
from inferflow.app.project import read_project
from inferflow.app.settings import read_settings
from inferflow.app.wiring import compile_project, open_models
from inferflow.demo import write_shop
from inferflow.serving.runtime import ModelRepository


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> dict[str, PlanDocument]:
    root: Path = tmp_path_factory.mktemp("demo") / "shop"
    write_shop(root)
    project, settings = read_project(root), read_settings(root)
    models = open_models(project, settings)
    compiled = compile_project(project, settings, models)
    models.close()
    repository = ModelRepository(project.models_dir)
    return {
        config_id: PlanDocument.model_validate(plan_document(result.plan, repository))
        for config_id, result in compiled.items()
        if result.plan is not None
    }


def test_edges_join_nodes_and_every_reader_reads(documents: dict[str, PlanDocument]) -> None:
    assert len(documents) == 4
    for document in documents.values():
        nodes = {node.id: node for node in document.nodes}
        assert all(edge.from_ in nodes and edge.to in nodes for edge in document.edges)
        for node in document.nodes:
            for column in node.writes:
                assert all(column.column in nodes[reader].reads for reader in column.read_by)


def test_a_column_is_there_once_however_a_request_may_give_it(
    documents: dict[str, PlanDocument],
) -> None:
    for document in documents.values():
        for node in document.nodes:
            assert len(node.reads) == len(set(node.reads))
            written = [each.column for each in node.writes]
            assert len(written) == len(set(written))


def test_what_works_on_slates_says_so(documents: dict[str, PlanDocument]) -> None:
    units = {node.id: node.unit for node in documents["page"].nodes}
    assert (units["page_model"], units["click_model"]) == ("slates", "targets")


def test_the_facts_of_a_step_are_said_in_words(documents: dict[str, PlanDocument]) -> None:
    facts = {node.id: node.facts for node in documents["ranker"].nodes}
    assert facts["fs_product"]["cached for"] == "1 min"
    assert facts["fs_user_category"]["keys"] == (
        "user_id = context:user:user_id, category_id = product:attributes:category_id"
    )
    assert facts["click_model"]["versions"] == "1"
    assert "expression" in facts["blend"]
    assert documents["ranker"].inputs.context == ["hour"]
