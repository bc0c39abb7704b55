"""A wish to cancel is kept, however the work of the driver ends: the thread is cancelled, not failed."""

from collections.abc import Callable
from threading import Event
from typing import Any

import pytest
from bench.openai_server import Reply, call, say, status

FAILURES = {
    "a wrong key": status(401, "no such key"),
    "no answer in it": say(""),
    "no such model": status(404, "no such model"),
}
REFUSE_THE_OUTCOME = """
CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no outcome here'; END $$;
CREATE TRIGGER refuse BEFORE UPDATE ON interlock.execution
FOR EACH ROW WHEN (NEW.status IN ('succeeded', 'failed')) EXECUTE FUNCTION public.refuse()
"""


def ends_cancelled(agent: Any, driver: Any, fail: Callable[[], Any]) -> Any:
    """`fail` lets the driver meet its failure."""
    wish = agent("cancel", "t", "--comment", "stop it", "--as", "alice", expect=0)
    assert wish["status"] == "running"  # another process drives it, so the wish is all there is so far
    fail()
    ended = driver.wait()
    assert (ended.exit_code, ended.json["status"], ended.json["error"]) == (0, "cancelled", None), ended
    assert agent("show", "t", expect=0) == ended.json
    events = agent.events()
    assert [event["payload"]["status"] for event in events if event["kind"] == "thread_ended"] == ["cancelled"]
    assert [event["actor"] for event in events if event["kind"] == "cancel_requested"] == ["alice"]
    assert agent("resume", "t", expect=0) == ended.json
    return ended.json


@pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES)
def test_while_the_model_fails(agent: Any, failure: Reply) -> None:
    wished = Event()
    agent.model.play(call("note_add", {"text": "before"}), lambda _: failure if wished.wait(60) else say("nobody wished anything"))
    driver = agent.cli.spawn("start", "do what is due", "--thread", "t", "--json")
    agent.model.wait_for_requests(2)
    ended = ends_cancelled(agent, driver, wished.set)
    assert [one["status"] for one in ended["executions"]] == ["succeeded"]
    assert len(agent.model.requests) == 2
    assert agent.unanswered() == []


def test_while_the_graph_itself_breaks(agent: Any) -> None:
    """The outcome of a call cannot be stored: what was begun is asked about, and the thread still ends as it was wished."""
    effect = '    World.here().effect("note_add", text)\n'
    agent.rewrite_tools(effect, effect + '    World.here().wait_for("wished")\n')
    with agent.superuser() as database:
        database.execute(REFUSE_THE_OUTCOME)
    agent.model.play(call("note_add", {"text": "before"}))
    driver = agent.cli.spawn("start", "do what is due", "--thread", "t", "--json")
    agent.world.wait_for("note_add")
    ended = ends_cancelled(agent, driver, lambda: agent.world.append("wished"))
    assert [one["status"] for one in ended["executions"]] == ["unknown"]
    assert [asked["kind"] for asked in ended["pending"]] == ["unknown_outcome"]
    assert (agent.world.attempts("note_add"), len(agent.model.requests)) == (1, 1)
    assert agent.unanswered() == []


def test_without_a_wish_the_same_failure_is_a_failure(agent: Any) -> None:
    failed = agent.start(FAILURES["a wrong key"], expect=1)
    assert failed["status"] == "failed"
    assert agent("cancel", "t", "--comment", "then not", expect=0)["status"] == "cancelled"
