"""The state alone restores the pause: with every table of ours emptied, the same question is asked again."""

from typing import Any

import pytest
from bench.openai_server import call, calls, say


def empty_our_tables(agent: Any) -> None:
    with agent.superuser(triggers=False) as database:
        for (table,) in database.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'interlock'").fetchall():
            database.execute(f"DELETE FROM interlock.{table}")


@pytest.mark.parametrize("secret", [False, True])
def test_resume_asks_the_same_question_again(agent: Any, secret: bool) -> None:
    if secret:
        agent.rewrite_tools("@tool(is_critical=True)\ndef transfer(", '@tool(is_critical=True, secret=("to",))\ndef transfer(')
    both = calls(call("transfer", {"to": "ann", "amount": 1}), call("transfer", {"to": "ben", "amount": 2}))
    started = agent.start(both, say("Done."), expect=3)
    agent("approve", started["pending"][0]["approval_id"], "--detach", expect=0)
    empty_our_tables(agent)
    assert agent("show", "t", expect=4)["error"]["code"] == "no_such_thread"

    adopted = agent("resume", "t", expect=3)
    facts = ("approval_id", "tool", "args", "args_sha256", "kind", "tier")
    assert [[asked[name] for name in facts] for asked in adopted["pending"]] == [
        [asked[name] for name in facts] for asked in started["pending"]
    ]
    assert adopted["requester"] == "unknown"
    assert agent.kinds()[0] == "thread_adopted"
    assert agent.world.attempts("transfer") == 0  # the approval that was lost permits nothing

    for asked in adopted["pending"]:
        ended = agent("approve", asked["approval_id"], "--detach", expect=0)
    ended = agent("resume", "t", expect=0)
    assert ended["status"] == "completed"
    assert sorted(agent.world.lines("transfer")) == ["1 to ann", "2 to ben"]
