"""Traces and metrics: what a collector gets, and that nothing is sent, loaded or shown that was not asked for."""

import subprocess
import sys
from typing import Any

import pytest
from bench.openai_server import call, say
from bench.otlp_collector import Collector

pytestmark = pytest.mark.timeout(600)


def test_a_collector_gets_spans_and_numbers_and_no_values(agent: Any) -> None:
    agent.cli.timeout = 170
    with Collector() as collector:
        agent.cli.environment["OTEL_EXPORTER_OTLP_ENDPOINT"] = collector.url
        [pending] = agent.start(call("slow_transfer", {"to": "SENTINEL", "amount": 5, "seconds": 20}))["pending"]
        assert collector.metrics["interlock.approvals.waiting"] == 1
        agent("approve", "t", "--comment", "SENTINEL too", expect=3)
        agent.model.play(say("SENTINEL is said."))
        agent("resolve", "t", "--abandon", expect=0)
    del agent.cli.environment["OTEL_EXPORTER_OTLP_ENDPOINT"]
    names = [name for name, _ in collector.spans]
    assert {"thread", "model call", "tool call", "decision", "node agent_think", "node await_human_approval"} <= set(names)
    told = dict(collector.spans)
    [execution] = agent("show", "t", expect=0)["executions"]
    assert told["tool call"] == {
        "interlock.thread_id": "t", "interlock.tool": "slow_transfer", "interlock.approval_id": pending["approval_id"],
        "interlock.call_key": execution["call_key"], "interlock.attempt": 1, "interlock.outcome": "unknown",
    }  # fmt: skip
    decisions = [attributes for name, attributes in collector.spans if name == "decision"]
    assert [one["interlock.answer"] for one in decisions] == ["approve", "abandon"]
    assert decisions[0]["interlock.approval_id"] == pending["approval_id"] and decisions[0]["interlock.thread_id"] == "t"
    numbers = collector.metrics
    assert numbers["interlock.approvals.asked"] >= 1 and numbers["interlock.approval.seconds"] == 1
    assert numbers["interlock.unknown_outcomes"] == 1 and numbers["interlock.approvals.waiting"] == 0
    assert collector.services == {"interlock"}
    assert not [body for body in collector.raw if b"SENTINEL" in body]


@pytest.mark.cold_start
def test_a_collector_that_is_away_stops_nothing_and_shows_nothing(agent: Any) -> None:
    agent.model.play(say("Done."))
    done = agent.cli("start", "x", "--thread", "t", environment={"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}, timeout=170)
    assert done.expect(0).stderr == "thread t\n"


def test_a_protocol_that_is_not_spoken_is_told(cli: Any) -> None:
    names = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}
    assert "http/protobuf" in cli("inbox", "--json", environment=names, timeout=170).expect(2).json["error"]["remedy"]


def test_nothing_is_loaded_unasked() -> None:
    code = (
        "import sys; from graph.telemetry import watch_of; from graph.watching import Unwatched;"
        "quiet = [{}, {'OTEL_TRACES_EXPORTER': 'none'}, {'OTEL_SDK_DISABLED': 'true', 'OTEL_EXPORTER_OTLP_ENDPOINT': 'x'}];"
        "assert all(isinstance(watch_of(one), Unwatched) for one in quiet);"
        "assert not [name for name in sys.modules if name.startswith('opentelemetry')]"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
