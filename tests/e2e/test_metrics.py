"""A real scrape: what it says is so, and has all that the dashboard and the alerts ask for."""

import json
import re
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from penstock.server.metrics.metrics import Metrics, Watched
from tests.e2e.support import figures, rows_of, until

SERVER = Path(__file__).parents[2] / "examples" / "server"
NAME = re.compile(r"\b((?:penstock|process)_[a-z_]+)\b")
PROMETHEUS_OWN = {"up", "job"}
SCRIPT = """
CREATE STREAM cars (ts TIMESTAMP, id STRING, mph INT) TIMESTAMP BY ts FROM push();
CREATE STREAM alarms (id STRING) FROM push();
CREATE QUERY fast WITH (max_latency => INTERVAL 9 SECONDS) AS
SELECT id, mph FROM cars WHERE mph > 60;
CREATE QUERY busy AS SELECT id, count(*) AS n FROM cars [RANGE 10 SECONDS] GROUP BY id;
CREATE RULE tell ON fast DO INSERT INTO alarms SELECT id;
"""
ROWS = 100

Scrape = dict[str, Metric]


@pytest.fixture(scope="module")
def running(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Connection, Metrics]]:
    with penstock.connect(tmp_path_factory.mktemp("metrics") / "home", spark=spark) as ps:
        metrics = Metrics(lambda: Watched(ps.system.inspected, ps.system.checkpoints))
        ps.script(SCRIPT)
        yield ps, metrics
        metrics.close()


def scraped(metrics: Metrics) -> Scrape:
    text = metrics.text().decode()
    return {each.name: each for each in text_string_to_metric_families(text)}


def value(found: Scrape, name: str, sample: str = "", **labels: str) -> float:
    values = [
        each.value
        for each in found[name].samples
        if each.name == (sample or each.name) and labels.items() <= each.labels.items()
    ]
    assert len(values) == 1, (name, labels, values)
    return values[0]


def test_a_scrape_says_what_the_views_say(running: tuple[Connection, Metrics]) -> None:
    ps, metrics = running
    begin = datetime.now(UTC)
    cars = [{"ts": begin + timedelta(seconds=n), "id": "a", "mph": n} for n in range(ROWS)]
    ps.push("cars", cars)
    until(ps, lambda: figures(ps, "fast")["rows_out"] == ROWS - 61)
    until(ps, lambda: rows_of(ps.sql("SHOW RULES").table)[0]["done"] == ROWS - 61)
    with ps.subscribe("fast"):
        found = scraped(metrics)
    assert value(found, "penstock_up") == 1
    assert value(found, "penstock_stream_rows", stream="cars") == ROWS
    assert value(found, "penstock_query_rows", query="fast") == ROWS - 61
    delays = "penstock_query_delay_seconds"
    assert value(found, delays, f"{delays}_bucket", query="fast", le="+Inf") == ROWS - 61
    assert value(found, delays, f"{delays}_sum", query="fast") > 0
    assert value(found, "penstock_query_contract_latency_seconds", query="fast") == 9
    assert value(found, "penstock_query_state", query="fast", state="RUNNING") == 1
    assert value(found, "penstock_query_subscriptions", query="fast") == 1
    assert value(found, "penstock_rule_fired", rule="tell") == ROWS - 61
    mark = value(found, "penstock_stream_watermark_timestamp_seconds", stream="cars")
    assert mark == pytest.approx(begin.timestamp() + ROWS - 1, abs=1e-3)
    busy = sum(each.value for each in found["penstock_unit_busy_seconds"].samples)
    assert busy == pytest.approx(value(found, "penstock_busy_seconds"), rel=0.5)
    assert value(found, "penstock_java_heap_bytes") > 1 << 20


def test_a_scrape_waits_for_nothing_and_holds_nothing(running: tuple[Connection, Metrics]) -> None:
    ps, metrics = running
    asked = threading.Thread(target=metrics.text, daemon=True)
    with ps.system.quiescence.quiesced():  # as while a checkpoint is written
        asked.start()
        asked.join(60)
        assert not asked.is_alive()


def test_all_that_is_asked_for_is_in_a_scrape(running: tuple[Connection, Metrics]) -> None:
    _, metrics = running
    text = metrics.text().decode()
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))
    known = set(kinds)
    for name, kind in kinds.items():
        if kind == "histogram":
            known |= {f"{name}_{part}" for part in ("bucket", "sum", "count")}
    asked = [*dashboard_asks(), *alerts_ask()]
    assert len(asked) > 40
    for expression in asked:
        assert set(NAME.findall(expression)) <= known, expression
        for counter in re.findall(r"(?:rate|increase)\((\w+)", expression):
            assert counter.endswith(("_total", "_bucket", "_count", "_sum")), expression


def test_labels_that_are_asked_for_are_those_of_a_scrape(
    running: tuple[Connection, Metrics],
) -> None:
    _, metrics = running
    labels = {
        sample.name: set(sample.labels)
        for metric in scraped(metrics).values()
        for sample in metric.samples
    }
    for expression in [*dashboard_asks(), *alerts_ask()]:
        for name, inside in re.findall(r"(penstock_\w+)\{([^}]*)\}", expression):
            asked = set(re.findall(r"(\w+)\s*[!=]", inside)) - PROMETHEUS_OWN
            assert asked <= labels.get(name, asked), expression


def dashboard_asks() -> list[str]:
    dashboard = json.loads((SERVER / "grafana/dashboards/penstock.json").read_text())
    panels = [each["expr"] for panel in dashboard["panels"] for each in panel.get("targets", ())]
    return [*panels, *(each["query"]["query"] for each in dashboard["templating"]["list"][1:])]


def alerts_ask() -> list[str]:
    rules = yaml.safe_load((SERVER / "prometheus/rules.yml").read_text())
    return [rule["expr"] for group in rules["groups"] for rule in group["rules"]]
