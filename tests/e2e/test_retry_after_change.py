"""A call whose outcome nobody knows, and a tool that is not what it was: only what was approved is retried, and secrets stay secret."""

import re
from typing import Any

import pytest
from bench.openai_server import call, say

PAY = {"to": "bob", "amount": 5}
HEAD = "@tool(is_critical=True)\ndef transfer(to: str, amount: int) -> str:"
SECRET, OTHER = "sk-first-4711", "sk-second-0815"
UNKNOWN_TOOL = {"INTERLOCK_TOOLS": None}
ALL_MASKED = {"to": "‹secret›", "amount": "‹secret›"}
DIGEST = re.compile(r"‹secret [0-9a-f]{64}›")
WITH_SECRET = HEAD, HEAD.replace("is_critical=True", 'is_critical=True, secret=("to",)')
CHANGES = {
    "another parameter": ("def transfer(to: str, amount: int)", 'def transfer(to: str, amount: int, currency: str = "EUR")'),
    "it acts in another way": (HEAD, HEAD.replace("is_critical=True", "is_critical=True, idempotent=True")),
    "the arguments do not fit": ("def transfer(to: str, amount: int)", "def transfer(to: str, cents: int)"),
}


def lose(agent: Any, tool: str = "transfer", args: dict[str, Any] = PAY) -> None:
    """A call is approved and begun in a process that is killed between its attempt and its effect."""
    agent.start(call(tool, args))
    agent.cli("approve", "t", environment=agent.world.environment(crash="during")).expect(-9)


def nothing_ran(agent: Any, tool: str = "transfer") -> bool:
    return (agent.world.attempts(tool), agent.world.count(tool)) == (1, 0)  # the attempt that was lost


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("order", ["changed, then answered", "answered, then changed"])
def test_a_retry_does_not_run_what_nobody_approved(agent: Any, change: tuple[str, str], order: str) -> None:
    lose(agent)
    [asked] = agent("resume", "t", expect=3)["pending"]
    assert asked["kind"] == "unknown_outcome"
    agent.model.play(say("Then not."))
    if order == "changed, then answered":
        agent.rewrite_tools(*change)
        ended = agent("resolve", asked["approval_id"], "--retry", expect=0)
    else:
        agent("resolve", asked["approval_id"], "--retry", "--detach", expect=0)
        agent.rewrite_tools(*change)
        ended = agent("resume", "t", expect=0)
    assert nothing_ran(agent)
    assert [(one["status"], one["attempts"]) for one in ended["executions"]] == [("failed", 1)]
    assert "said that it did not happen. It was not tried again" in agent.told()[0] and "has changed" in agent.told()[0]
    assert agent.kinds().count("execution_started") == 1
    assert "execution_resolved" in agent.kinds()


def test_the_model_may_propose_it_again_and_people_are_asked_anew(agent: Any) -> None:
    lose(agent)
    [asked] = agent("resume", "t", expect=3)["pending"]
    agent.rewrite_tools(*CHANGES["another parameter"])
    agent.model.play(call("transfer", PAY), say("Paid."))
    [anew] = agent("resolve", asked["approval_id"], "--retry", expect=3)["pending"]
    assert (anew["kind"], anew["args"]) == ("pre_execution", PAY | {"currency": "EUR"})
    assert nothing_ran(agent)
    assert agent("approve", anew["approval_id"], expect=0)["status"] == "completed"
    assert agent.world.lines("transfer") == ["5 to bob"]


def test_a_tool_that_may_be_repeated_is_not_repeated_where_it_changed(agent: Any) -> None:
    lose(agent, "transfer_keyed")
    old = "def transfer_keyed(to: str, amount: int, idempotency_key: str)"
    agent.rewrite_tools(old, old.replace("idempotency_key: str", 'idempotency_key: str, currency: str = "EUR"'))
    [asked] = agent("resume", "t", expect=3)["pending"]
    assert asked["kind"] == "unknown_outcome" and "has changed since" in asked["note"]
    assert nothing_ran(agent, "transfer_keyed")
    assert agent.kinds().count("execution_started") == 1


def test_where_the_tool_is_as_it_was_a_retry_runs(agent: Any) -> None:
    lose(agent)
    agent("resume", "t", expect=3)
    agent.rewrite_tools(*CHANGES["another parameter"])
    agent.rewrite_tools(*reversed(CHANGES["another parameter"]))
    agent.model.play(say("Paid."))
    assert agent("resolve", "t", "--retry", expect=0)["status"] == "completed"
    assert agent.world.lines("transfer") == ["5 to bob"]


class TestSecrets:
    """The tool is unknown here, so nobody can say which of its arguments are secret: then all are."""

    def lose(self, agent: Any) -> None:
        agent.rewrite_tools(*WITH_SECRET)
        lose(agent, "transfer", PAY | {"to": SECRET})

    def on_the_record(self, agent: Any, kind: str) -> Any:
        """The arguments of the last question of this kind; nothing that is kept or printed of the record holds a secret."""
        kept = agent.rows("SELECT payload::text FROM interlock.audit_event")
        printed = [agent.cli("audit", *form, environment=UNKNOWN_TOOL).expect(0) for form in ((), ("t", "--json"))]
        for text in (str(kept), *(one.stdout + one.stderr for one in printed)):
            assert SECRET not in text and OTHER not in text
        asked = [event["payload"] for event in agent.events() if event["kind"] == "approval_requested"]
        args = [one["args"] for one in asked if one["kind"] == kind][-1]
        return {name: DIGEST.sub("‹secret›", value) if isinstance(value, str) else value for name, value in args.items()}

    def test_when_people_are_asked_what_happened(self, agent: Any) -> None:
        self.lose(agent)
        agent("resume", "t", expect=3, environment=UNKNOWN_TOOL)
        assert self.on_the_record(agent, "unknown_outcome") == ALL_MASKED

    def test_when_the_thread_is_cancelled(self, agent: Any) -> None:
        self.lose(agent)
        agent("cancel", "t", "--comment", "enough", expect=0, environment=UNKNOWN_TOOL)
        assert self.on_the_record(agent, "unknown_outcome") == ALL_MASKED

    def test_when_a_question_is_asked_again(self, agent: Any) -> None:
        agent.rewrite_tools(*WITH_SECRET)
        agent.start(call("transfer", PAY | {"to": SECRET}))
        assert self.on_the_record(agent, "pre_execution") == PAY | {"to": "‹secret›"}
        with agent.superuser(triggers=False) as database:
            database.execute("DELETE FROM interlock.approval")
        agent("resume", "t", expect=3, environment=UNKNOWN_TOOL)
        assert self.on_the_record(agent, "pre_execution") == ALL_MASKED

    def test_when_the_model_is_told_what_a_person_changed(self, agent: Any) -> None:
        agent.rewrite_tools(*WITH_SECRET)
        agent.start(call("transfer", PAY | {"to": SECRET}), say("Paid."))
        agent.cli("modify", "t", "--set", f"to={OTHER}", environment=agent.cli.crashing("after_outcome")).expect(-9)
        assert agent.world.lines("transfer") == [f"5 to {OTHER}"]
        assert agent("resume", "t", expect=0, environment=UNKNOWN_TOOL)["status"] == "completed"
        assert "A person changed the arguments" in agent.told()[0] and "‹secret›" in agent.told()[0]
        assert OTHER not in str(agent.model.requests)
        self.on_the_record(agent, "pre_execution")
