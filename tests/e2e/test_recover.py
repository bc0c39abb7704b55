"""`recover`: every thread that was left behind goes on, once; open questions stay open."""

import time
from pathlib import Path
from typing import Any

from bench.openai_server import call, say, silent, status

HURRY = """
[[rule]]
name = "in a hurry"
when = 'tool == "transfer_keyed"'
verdict = "ask"
deadline = "1s"
on_expiry = "reject"
"""


def start(agent: Any, thread: str, to: str) -> str:
    """A thread that waits for a person; its question."""
    [asked] = agent.start(call("transfer", {"to": to, "amount": 5}), thread=thread)["pending"]
    return str(asked["approval_id"])


def recovered(agent: Any, *options: str, expect: int = 0) -> dict[str, str]:
    return {row["thread_id"]: row["status"] for row in agent("recover", *options, expect=expect)["recovered"]}


def test_what_was_left_behind_goes_on_and_nothing_else(agent: Any, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(HURRY)
    start(agent, "open", "nobody")
    agent("approve", start(agent, "decided", "ann"), "--detach", expect=0)
    agent("reject", start(agent, "refused", "eve"), "--comment", "not now", "--detach", expect=0)
    agent.start(call("transfer_keyed", {"to": "zoe", "amount": 5}), thread="overdue", environment={"INTERLOCK_POLICY": str(policy)})
    start(agent, "killed", "bob")
    agent.cli("approve", "killed", environment=agent.world.environment(crash="before")).expect(-9)

    time.sleep(1)
    rows = agent.count_rows()
    left = {"decided": "waiting", "refused": "waiting", "overdue": "waiting", "killed": "running"}
    assert recovered(agent, "--dry-run") == left
    assert agent.count_rows() == rows
    assert agent.world.lines("transfer") == []

    agent.model.always(say("Done."))
    after = recovered(agent, expect=0)
    assert after == {"decided": "completed", "refused": "completed", "overdue": "completed", "killed": "waiting"}
    assert agent.world.lines("transfer") == ["5 to ann"]
    assert sorted((one["thread_id"], one["kind"]) for one in agent("inbox", expect=0)["pending"]) == [
        ("killed", "unknown_outcome"),
        ("open", "pre_execution"),
    ]
    assert recovered(agent) == {}
    assert agent.world.lines("transfer") == ["5 to ann"]


def test_one_that_fails_holds_up_no_other(agent: Any) -> None:
    for thread, to in {"first": "ann", "second": "bob"}.items():
        agent("approve", start(agent, thread, to), "--detach", expect=0)
    agent.model.play(status(401, "no such key"), say("Done."))
    document = agent("recover", expect=1)
    assert [(row["thread_id"], row["status"]) for row in document["recovered"]] == [("first", "failed"), ("second", "completed")]
    assert "no such key" in document["recovered"][0]["error"]
    assert agent.world.lines("transfer") == ["5 to ann", "5 to bob"]


def test_a_thread_that_a_process_drives_is_left_to_it(agent: Any) -> None:
    agent.model.play(silent())
    driver = agent.cli.spawn("start", "do what is due", "--thread", "t", "--json")
    agent.model.wait_for_requests(1)
    assert recovered(agent) == {}
    driver.kill()
    agent.model.play(say("Done."))
    assert recovered(agent) == {"t": "completed"}
