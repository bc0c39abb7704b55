"""A question, an approval in another process, and the effect: once, and exactly as approved."""

import re
from typing import Any

import pytest
from bench.cli import Cli
from bench.openai_server import call, say

PAY = {"to": "Zoë 王 \U0001f600", "amount": 5}


@pytest.mark.cold_start
def test_practice_model_deploys_after_approval(cli: Cli, agent: Any) -> None:
    stopped = cli("start", "deploy shop 1.4.2 to staging", "--json").expect(3)
    assert "no language model" in stopped.stderr
    started = stopped.json
    assert started["status"] == "waiting"
    assert started["final_answer"] is started["error"] is None
    [asked] = started["pending"]
    assert asked["tool"] == "deploy_code"
    assert asked["args"] == {"project_id": "shop", "version": "1.4.2", "environment": "staging"}
    assert agent.rows("SELECT count(*) FROM interlock.release") == [(0,)]

    approved = cli("approve", asked["approval_id"], "--json").expect(0)
    assert "language model" not in approved.stderr, "once a thread is enough"
    ended = approved.json
    assert ended["status"] == "completed"
    assert "1.4.2" in ended["final_answer"]
    assert agent.rows("SELECT project_id, version, environment FROM interlock.release") == [("shop", "1.4.2", "staging")]


def test_a_thread_that_goes_on_with_another_model_says_so(agent: Any) -> None:
    """Who approves in a shell without INTERLOCK_MODEL may not know who goes on."""
    agent.start(call("transfer", PAY))
    approved = agent.cli("approve", "t", environment={"INTERLOCK_MODEL": "practice"}).expect(0)
    assert "has led this thread; practice goes on" in approved.stderr and "no language model" in approved.stderr
    agent.start(call("transfer", PAY), say("Done."), thread="u")
    assert "goes on" not in agent.cli("approve", "u").expect(0).stderr


def test_the_question_is_exactly_what_design_says(agent: Any) -> None:
    started = agent.start(call("transfer", PAY))
    assert {"thread_id", "status", "final_answer", "error", "pending", "executions"} <= set(started)
    assert (started["thread_id"], started["status"], started["executions"]) == ("t", "waiting", [])
    [asked] = started["pending"]
    facts = {"kind": "pre_execution", "tool": "transfer", "args": PAY, "tier": 1, "required": 1, "have": 0, "version": 1}
    assert {name: asked[name] for name in facts} == facts
    assert asked["expires_at"] is None
    assert re.fullmatch(r"[0-9a-f]{64}", asked["args_sha256"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z", asked["requested_at"])
    assert agent("inbox", expect=0)["pending"][0] == asked
    assert agent("show", "t", expect=0) == started
    assert [run["status"] for run in agent("runs", expect=0)["runs"]] == ["waiting"]
    assert agent.world.attempts("transfer") == 0


@pytest.mark.cold_start
def test_approved_by_prefix_it_runs_once_with_what_was_shown(agent: Any) -> None:
    asked = agent.start(call("transfer", PAY), say("Paid."))["pending"][0]["approval_id"]
    ended = agent("approve", asked[:8], "--comment", "looks right", "--as", "alice", expect=0)
    assert (ended["status"], ended["final_answer"], ended["pending"]) == ("completed", "Paid.", [])
    [execution] = ended["executions"]
    assert (execution["tool"], execution["status"], execution["attempts"]) == ("transfer", "succeeded", 1)
    assert agent.world.lines("transfer") == [f"5 to {PAY['to']}"]
    assert agent.told() == [f"transferred 5 to {PAY['to']}"]

    before = agent.count_rows()
    late = agent("reject", asked, "--as", "bob", expect=5)["error"]
    assert (late["code"], late["by"]) == ("already_decided", "alice")
    assert late["at"]
    assert agent("show", "t", expect=0) == ended
    assert agent.count_rows() == before | {"interlock.audit_event": before["interlock.audit_event"] + 1}
    assert agent.world.count("transfer") == 1

    events = agent.events()
    decided = next(event for event in events if event["kind"] == "approval_decided")
    assert (decided["actor"], decided["actor_source"], decided["payload"]["comment"]) == ("alice", "claimed", "looks right")
    requested = next(event for event in events if event["kind"] == "approval_requested")
    assert requested["payload"]["args"] == PAY
    assert events[-1]["kind"] == "refused_attempt"
    assert events[-1]["actor"] == "bob"


def test_c012_names_of_approvals(agent: Any) -> None:
    """An id that no open question has is refused, and nothing is changed; an id or a prefix must mean one."""
    asked = agent.start(call("transfer", PAY), say("Paid."))["pending"][0]["approval_id"]
    before = agent.count_rows()
    for name in (asked[:5], "f" * 32, asked.replace(asked[0], "z"), "no such thread", ""):
        assert agent("approve", name, expect=4)["error"]["code"] == "no_such_approval"

    twin = asked[:-1] + ("0" if asked[-1] != "0" else "1")
    with agent.superuser() as database:
        columns = [
            row[0]
            for row in database.execute(
                "SELECT column_name FROM information_schema.columns WHERE table_schema = 'interlock' AND table_name = 'approval'"
            )
        ]
        copied = ", ".join(f"'{twin}'" if name == "approval_id" else name for name in columns)
        database.execute(f"INSERT INTO interlock.approval ({', '.join(columns)}) SELECT {copied} FROM interlock.approval")
    for name in (asked[:-1], "t"):
        ambiguous = agent("approve", name, expect=2)["error"]
        assert ambiguous["code"] == "ambiguous"
        assert asked in ambiguous["message"]
        assert twin in ambiguous["message"]
    with agent.superuser() as database:
        database.execute(f"DELETE FROM interlock.approval WHERE approval_id = '{twin}'")
    assert agent.count_rows() == before
    assert agent.world.attempts("transfer") == 0

    assert agent("approve", "t", expect=0)["status"] == "completed"
    assert agent.world.count("transfer") == 1
    assert agent("approve", "t", expect=4)["error"]["code"] == "nothing_pending"
