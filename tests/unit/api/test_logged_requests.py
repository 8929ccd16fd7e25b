"""What a call tells the inference log beside its values."""

from __future__ import annotations

from typing import Any

from inferflow._proto import messages
from inferflow.api.service import ScoringService
from inferflow.engine.limits import Limits
from inferflow.engine.run import Run
from inferflow.engine.scorer import Scorer
from inferflow.inferlog.taken import PlanLog, Taken
from inferflow.plan.book import LiveSplit
from inferflow.plan.split import read_split
from inferflow.rpc.admission import Admission

from ..inferlog.worlds import Runs, make_world, ranker
from .calling import Caller

POINT_WISE = "/Predict/InferPointWise"
LEGACY = "/Inferflow/RetrieveModelScore"


def asked(path: str, config_id: str, found: Any, watching: Runs, *headers: Any) -> Run:
    service = ScoringService(lambda _: found, limits=Limits(), admission=Admission(10))
    if path == POINT_WISE:
        boost = messages.ContextFeature(name="boost", value=b"\0\0\0\0", data_type=4)
        request = messages.PointWiseRequest(
            model_config_id=config_id,
            tracking_id="t1",
            context_features=[boost],
            targets=[messages.Target(id="3")],
        )
    else:
        request = messages.InferflowRequest(model_config_id=config_id, tracking_id="t1")
        request.entities.add(entity="item", ids=["3"])
        request.entities.add(entity="boost", ids=["0.5"])
    Caller(service)(path, request, metadata=headers)
    return watching.runs[-1]


def scorer(watching: Runs, config_id: str = "ranker") -> Scorer:
    return make_world(watching).scorer({config_id: ranker()})


def test_the_headers_say_who_asked_and_what_about() -> None:
    for path in (POINT_WISE, LEGACY):
        watching = Runs()
        headers = (("user-id", "u7"), ("clp_id", "later"), ("search_query", "red shoes"))
        run = asked(path, "ranker", scorer(watching), watching, *headers)
        assert run.request.tracking_id == "t1"
        assert run.request.user_id == "u7"
        assert run.request.parent_entity == "red shoes"


def test_the_log_tells_what_was_asked_for_and_what_answered() -> None:
    watching = Runs()
    split, problems = read_split("home", {"ab": {"one": 50, "two": 50}})
    assert split is not None
    assert not problems
    arms = LiveSplit(split, (scorer(watching, "one"), scorer(watching, "two")))
    run = asked(POINT_WISE, "home", arms, watching, ("user-id", "u7"))
    log = PlanLog(run.plan)
    taken = Taken(run, log, 0.0, 0)
    assert taken.experiment == "home"
    assert taken.config_id in ("one", "two")
