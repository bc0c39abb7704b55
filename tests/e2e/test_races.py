"""Two processes at once: the first one that commits has decided, the other is told so, and effects follow the record."""

from typing import Any

from bench.openai_server import call, calls, say

ROUNDS = 8


def test_c046_approve_races_reject(agent: Any) -> None:
    """One of two opposite decisions wins; the other is told who won and when, and what runs follows the record."""
    payments = [call("transfer", {"to": f"account {number}", "amount": 1}) for number in range(ROUNDS)]
    started = agent.start(calls(*payments), say("Done."))
    approved = []
    for asked in started["pending"]:
        racing = [agent.cli.spawn(verb, asked["approval_id"], "--detach", "--json", "--as", verb) for verb in ("approve", "reject")]
        results = [process.wait() for process in racing]
        assert sorted(result.exit_code for result in results) == [0, 5]
        winner, loser = sorted(results, key=lambda result: result.exit_code)
        error = loser.json["error"]
        assert error["code"] == "already_decided"
        assert error["by"] == winner.command[1] != loser.command[1]
        assert error["at"]
        if winner.command[1] == "approve":
            approved.append(f"1 to {asked['args']['to']}")
    assert agent.world.attempts("transfer") == 0

    assert agent("resume", "t", expect=0)["status"] == "completed"
    assert sorted(agent.world.lines("transfer")) == sorted(approved)
    kinds = agent.kinds()
    assert kinds.count("approval_decided") == kinds.count("refused_attempt") == ROUNDS


def test_both_approve_and_drive(agent: Any) -> None:
    """The one that lost the lease leaves the thread to the other; each decision counts and each effect happens once."""
    started = agent.start(calls(call("transfer", {"to": "ann", "amount": 1}), call("transfer", {"to": "ben", "amount": 2})), say("Done."))
    racing = [agent.cli.spawn("approve", asked["approval_id"], "--json") for asked in started["pending"]]
    results = [process.wait() for process in racing]
    assert {result.exit_code for result in results} <= {0, 3}
    assert agent("show", "t", expect=0)["status"] == "completed"
    assert sorted(agent.world.lines("transfer")) == ["1 to ann", "2 to ben"]
    assert len(agent.model.requests) == 2


def test_start_races_start(agent: Any) -> None:
    agent.model.play(call("transfer", {"to": "ann", "amount": 1}))
    racing = [agent.cli.spawn("start", f"task {number}", "--thread", "t", "--json") for number in range(3)]
    results = [process.wait() for process in racing]
    winners = [result for result in results if result.json["error"] is None]
    assert {result.exit_code for result in winners} == {3}
    assert {result.json["error"]["code"] for result in results if result not in winners} <= {"thread_exists"}
    assert {result.exit_code for result in results} <= {3, 5}
    assert agent.rows("SELECT count(*) FROM interlock.run") == [(1,)]
    assert agent.kinds().count("thread_started") == 1
    assert len(agent.model.requests) == 1
