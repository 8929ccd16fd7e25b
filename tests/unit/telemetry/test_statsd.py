"""What arrives at TELEGRAF_HOST: real packets on loopback."""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Iterator

import pytest

from inferflow.engine.request import ScoreRequest
from inferflow.errors import MissingExtra
from inferflow.telemetry import TelemetrySettings, open_telemetry
from inferflow.telemetry.statsd import StatsdObserver, open_client
from inferflow.telemetry.statsd_table import STATSD

ROUTER = ("inferflow.router.api.request.total", "inferflow.router.api.request.latency")
LINE = re.compile(r"(?P<name>[^:]+):(?P<value>[^|]+)\|(?P<kind>c|ms|g)\|#(?P<tags>.+)")
KINDS = {"count": "c", "timing": "ms", "gauge": "g"}


@pytest.fixture
def statsd(inbox) -> Iterator[StatsdObserver]:
    client = open_client("127.0.0.1", inbox.port, service="inferflow", env="test")
    observer = StatsdObserver(client)
    yield observer
    observer.close()


def received(statsd: StatsdObserver, inbox) -> dict[tuple[str, frozenset[str]], list[float]]:
    """(name, tags without the global ones) → values, after everything is sent."""
    statsd.flush()
    found: dict[tuple[str, frozenset[str]], list[float]] = {}
    for line in inbox.lines():
        match = LINE.fullmatch(line)
        assert match, line
        tags = set(match["tags"].split(","))
        assert {"env:test", "service:inferflow"} <= tags
        assert match["kind"] == KINDS[STATSD[match["name"]].kind]
        key = (match["name"], frozenset(tags - {"env:test", "service:inferflow"}))
        found.setdefault(key, []).append(float(match["value"]))
    return found


def tags(**named: str) -> frozenset[str]:
    return frozenset(f"{key.replace('_', '-')}:{value}" for key, value in named.items())


def test_a_predict_request_is_sent_by_its_documented_names_and_tags(make_shop, statsd, inbox):
    make_shop(statsd).score()
    found = received(statsd, inbox)
    asked = tags(model_id="shop", inference_mode="pointwise")
    assert found["predict.infer.request.total", asked] == [1]
    assert found["predict.infer.request.batch.size", asked] == [3]
    [latency] = found["predict.infer.latency", asked]
    assert 0 < latency < 10_000


def test_the_older_call_has_names_of_its_own(make_shop, statsd, inbox):
    shop = make_shop(statsd)
    shop.scorer.score_now(
        ScoreRequest("shop", {"user": "u1", "product": ["p1", "p2"]}, legacy=True)
    )
    found = received(statsd, inbox)
    asked = tags(model_id="shop")
    assert found["inferflow.retrievemodelscore.request.total", asked] == [1]
    assert found["inferflow.retrievemodelscore.batch.size", asked] == [2]
    assert len(found["inferflow.retrievemodelscore.latency", asked]) == 1
    assert not [name for name, _ in found if name.startswith("predict.")]


def test_components_send_counts_features_cache_and_calls(make_shop, statsd, inbox):
    shop = make_shop(statsd)
    shop.score()
    shop.score(entities={"user": "u1", "product": ["p1", "p4"]})
    found = received(statsd, inbox)
    product = tags(model_id="shop", component_name="fs_product")
    assert found["inferflow.component.execution.total", product] == [2]
    assert len(found["inferflow.component.execution.latency", product]) == 2
    assert found["inferflow.component.feature.count", product] == [(3 + 2) * 2]
    assert found["inferflow.component.inmemorycache.request.total", product] == [5]
    assert found["inferflow.component.inmemorycache.miss", product] == [4]
    called = product | {
        "ext-service:featurestore",
        "endpoint:/FeatureService/retrieveFeatures",
    }
    assert found["inferflow.external.api.request.total", called] == [2]
    assert found["inferflow.external.api.request.batch", called] == [4]
    assert len(found["inferflow.external.api.latency", called]) == 2
    ranker = tags(model_id="shop", component_name="ranker")
    assert len(found["inferflow.component.predator.execution.latency", ranker]) == 2
    assert len(found["inferflow.datatype.conversion.execution.latency", ranker]) == 2
    assert (
        "inferflow.external.api.request.total",
        ranker | {"ext-service:predator", "endpoint:/ModelInfer"},
    ) in found
    assert (
        "inferflow.external.api.request.total",
        tags(model_id="shop", component_name="blend")
        | {"ext-service:numerix_service", "endpoint:/NumerixService/Compute"},
    ) in found


def test_errors_carry_the_documented_error_type(make_shop, statsd, inbox):
    shop = make_shop(statsd)
    shop.world.features.broken = "no route"
    shop.score()
    failed = tags(model_id="shop", component_name="fs_user") | {
        "error-type:featurestore-api-error",
        "ext-service:featurestore",
        "endpoint:/FeatureService/retrieveFeatures",
    }
    assert received(statsd, inbox)["inferflow.component.execution.error", failed] == [1]


def test_every_name_of_the_table_is_sent_with_its_tags_and_no_other(make_shop, statsd, inbox):
    shop = make_shop(statsd)
    shop.score()
    shop.scorer.score_now(ScoreRequest("shop", {"user": "u1", "product": ["p1"]}, legacy=True))
    shop.world.features.broken = "no route"
    shop.score()
    statsd.call_ended("/Predict/InferPointWise", 0, 0.002)
    statsd.plan_live("shop", "v1")
    statsd.plan_rejected("shop", 2)
    statsd.arm_chosen("split", "shop")
    statsd.logs_sent("shop", 4)
    statsd.logs_failed("shop", "encoding_error", 1)
    statsd.watch_cache(lambda: 17)
    found = received(statsd, inbox)
    assert {name for name, _ in found} == set(STATSD)
    for name, sent in found:
        assert {tag.partition(":")[0] for tag in sent} == set(STATSD[name].tags), name
    method = frozenset({"api:/Predict/InferPointWise", "status:0"})
    assert (found[ROUTER[0], method], found[ROUTER[1], method]) == ([1], [2.0])
    cache = frozenset({"cache_name:in_memory_cache_v1"})
    assert found["in_memory_cache_item_count", cache] == [17]
    assert found["in_memory_cache_hit_rate", cache] == [pytest.approx(4 / 7)]


def test_the_documented_names_are_all_there():
    assert set(STATSD) >= {
        "inferflow.retrievemodelscore.request.total",
        "inferflow.retrievemodelscore.latency",
        "inferflow.retrievemodelscore.batch.size",
        "predict.infer.request.total",
        "predict.infer.latency",
        "inferflow.component.execution.total",
        "inferflow.component.execution.latency",
        "inferflow.component.execution.error",
        "inferflow.component.feature.count",
        "inferflow.external.api.request.total",
        "inferflow.external.api.latency",
        "inferflow.component.inmemorycache.request.total",
        "inferflow.component.inmemorycache.miss",
        "inferflow.logging.kafka_sent",
    }


def test_counts_are_added_up_and_sent_once(make_shop, statsd, inbox):
    shop = make_shop(statsd)
    for _ in range(50):
        shop.score()
    asked = tags(model_id="shop", inference_mode="pointwise")
    found = received(statsd, inbox)
    assert found["predict.infer.request.total", asked] == [50]
    assert len(found["predict.infer.latency", asked]) == 50
    assert received(statsd, inbox) == {}


def test_sampling_thins_out_timings_by_request_and_leaves_counts_exact(make_shop, inbox):
    dice = itertools.cycle([0.1, 0.9, 0.24, 0.26])
    client = open_client("127.0.0.1", inbox.port, service="s", env="")
    statsd = StatsdObserver(client, sampling_rate=0.25, chance=lambda: next(dice))
    shop = make_shop(statsd)
    for _ in range(8):
        shop.score()
    statsd.close()
    lines = inbox.lines()
    timings = [line for line in lines if line.startswith("predict.infer.latency")]
    assert len(timings) == 4
    assert all("|ms|@0.25|#" in line for line in timings)
    steps = [line for line in lines if line.startswith("inferflow.component.execution.latency")]
    assert len(steps) == 4 * len(shop.scorer.plan.steps)
    [total] = [line for line in lines if line.startswith("predict.infer.request.total")]
    assert total.startswith("predict.infer.request.total:8|c|#")


def test_a_tag_value_cannot_break_out_of_its_tag(statsd, inbox):
    statsd.logs_sent("a,b|c#d\ne", 1)
    assert received(statsd, inbox) == {
        ("inferflow.logging.kafka_sent", frozenset({"model-id:a_b_c_d_e"})): [1]
    }


def test_telemetry_sends_what_is_left_when_it_closes(make_shop, inbox):
    telemetry = open_telemetry(
        TelemetrySettings(
            app_name="ranking", app_env="prod", telegraf_host="127.0.0.1", telegraf_port=inbox.port
        )
    )
    make_shop(telemetry.observer).score()
    telemetry.close()
    telemetry.close()
    [total] = [line for line in inbox.lines() if line.startswith("predict.infer.request.total")]
    assert total == (
        "predict.infer.request.total:1|c|"
        "#model-id:shop,inference-mode:pointwise,env:prod,service:ranking"
    )
    assert b"inferflow_requests_total" in telemetry.render()


def test_an_unreachable_agent_harms_nobody(make_shop, inbox):
    port = inbox.port
    inbox.close()
    statsd = StatsdObserver(open_client("127.0.0.1", port, service="s", env=""))
    shop = make_shop(statsd)
    for _ in range(3):
        assert len(shop.score()) == 3
        statsd.flush()
    statsd.close()


def test_a_missing_client_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "datadog.dogstatsd.base", None)
    with pytest.raises(MissingExtra, match=r"inferflow\[statsd\]"):
        open_telemetry(TelemetrySettings(telegraf_host="127.0.0.1"))
