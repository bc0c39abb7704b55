"""A process that dies in the middle of an effect: what followed is declared by the tool, and otherwise a person says it."""

from typing import Any

import pytest
from bench.openai_server import call, say

PAY = {"to": "bob", "amount": 5}


def die(agent: Any, tool: str, moment: str) -> None:
    """Approves a call of this tool in a process that is killed there."""
    agent.start(call(tool, PAY), say("Settled."))
    agent.cli("approve", "t", environment=agent.world.environment(crash=moment)).expect(-9)
    assert agent.world.crashed(moment)


SETTLED = {
    "done": (("--done", "payment 17"), "payment 17", "succeeded", 1),
    "retry": (("--retry",), "transferred 5 to bob", "succeeded", 2),
    "abandon": (("--abandon",), "Nobody knows", "abandoned", 1),
}


@pytest.mark.parametrize("how", SETTLED)
def test_c003_a_person_settles_it(agent: Any, how: str) -> None:
    """Nobody knows what became of the call: a person says done, retry or abandon, and it ran as often as they say."""
    options, words, status, attempts = SETTLED[how]
    die(agent, "transfer", "during" if how == "retry" else "after")
    waiting = agent("resume", "t", expect=3)
    [asked] = waiting["pending"]
    assert (asked["kind"], asked["tool"], asked["args"]) == ("unknown_outcome", "transfer", PAY)
    assert waiting["executions"][0]["status"] == "unknown"
    began = waiting["executions"][0]["started_at"]
    assert asked["begun"] == {"at": began, "attempt": 1, "idempotency_key": waiting["executions"][0]["call_key"]}
    for told in (agent.cli("show", "t").stdout, agent.cli.terminal("show", "t", columns=100).wait().stdout):
        assert f"{began}, attempt 1" in told and asked["begun"]["idempotency_key"] in told, "what to look for at the other side"
        assert "--then compensate" not in told, "this question cannot be rejected"
    assert agent.world.attempts("transfer") == 1
    assert agent("approve", asked["approval_id"], expect=6)["error"]["code"] == "wrong_kind"
    assert agent("resolve", asked["approval_id"], expect=2)["error"]["code"] == "usage"

    ended = agent("resolve", asked["approval_id"], *options, "--as", "alice", expect=0)
    assert ended["status"] == "completed"
    assert [(execution["status"], execution["attempts"]) for execution in ended["executions"]] == [(status, attempts)]
    assert agent.world.attempts("transfer") == attempts
    assert words in agent.told()[0]
    assert agent("resolve", asked["approval_id"], *options, expect=5)["error"]["code"] == "already_decided"
    events = [event for event in agent.events() if event["kind"] == "approval_decided"]
    assert (events[-1]["actor"], events[-1]["payload"]["type"]) == ("alice", how)
    [resolved] = [event["payload"] for event in agent.events() if event["kind"] == "execution_resolved"]
    assert (resolved["by"], resolved["status"]) == ("alice", "retried" if how == "retry" else status)


def test_what_a_person_changed_is_told_however_its_outcome_became_known(agent: Any) -> None:
    agent.start(call("transfer", PAY), say("Settled."))
    agent.cli("modify", "t", "--set", "amount=4", environment=agent.world.environment(crash="after")).expect(-9)
    agent("resume", "t", expect=3)
    agent("resolve", "t", "--done", "payment 17", expect=0)
    assert agent.told() == ['A person changed the arguments before it ran; it ran with {"amount":4,"to":"bob"}.\npayment 17']


def test_an_idempotent_tool_gets_the_same_key_again(agent: Any) -> None:
    die(agent, "transfer_keyed", "after")
    ended = agent("resume", "t", expect=0)
    assert [(execution["status"], execution["attempts"]) for execution in ended["executions"]] == [("succeeded", 2)]
    assert agent.world.count("transfer_keyed") == 1
    assert agent.told() == ["transferred 5 to bob"]


LATE_NEWS = """
    import psycopg
    with psycopg.connect({url!r}) as db:
        db.execute("UPDATE interlock.execution SET status = 'succeeded', result = 'late news', finished_at = now()")
    if True:
"""


def test_an_outcome_that_comes_while_its_check_fails_is_asked_of_nobody(agent: Any, database_url: str) -> None:
    die(agent, "transfer_checked", "after")
    agent.rewrite_tools("    if UNREACHABLE in os.environ:\n", LATE_NEWS.format(url=database_url).lstrip("\n"))
    ended = agent("resume", "t", expect=0)
    assert [one["status"] for one in ended["executions"]] == ["succeeded"] and agent.told() == ["late news"]
    assert agent.world.attempts("transfer_checked") == 1
    assert "execution_unknown" not in agent.kinds()


@pytest.mark.parametrize(("moment", "attempts"), [("during", 2), ("after", 1)])
def test_the_other_side_is_asked(agent: Any, moment: str, attempts: int) -> None:
    die(agent, "transfer_checked", moment)
    ended = agent("resume", "t", expect=0)
    assert ended["status"] == "completed"
    assert agent.world.attempts("transfer_checked") == attempts
    assert agent.world.count("transfer_checked") == agent.world.count("transfer_checked.checks") == 1


TRANSFERS = """
CREATE TABLE public.transfers (id bigserial PRIMARY KEY, recipient text, amount integer);
GRANT ALL ON public.transfers, public.transfers_id_seq TO interlock
"""
ENDED_ONCE = """
CREATE SEQUENCE public.once;
GRANT ALL ON public.once TO interlock;
CREATE FUNCTION public.end_once() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF nextval('public.once') = 1 THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER end_once BEFORE INSERT ON public.transfers FOR EACH ROW EXECUTE FUNCTION public.end_once()
"""


def test_a_session_lost_by_a_transactional_tool_is_not_told_as_its_failure(agent: Any) -> None:
    with agent.superuser() as database:
        database.execute(TRANSFERS)
        database.execute(ENDED_ONCE)
    agent.start(call("transfer_tx", PAY), say("Settled."))
    assert "interlock resume t" in agent("approve", "t", expect=7)["error"]["remedy"]
    assert agent.rows("SELECT recipient, amount FROM public.transfers") == []
    assert agent("resume", "t", expect=0)["status"] == "completed"
    assert agent.rows("SELECT recipient, amount FROM public.transfers") == [("bob", 5)]
    assert agent.told() == ["transferred 5 to bob"]


def test_an_effect_in_our_database_commits_with_its_outcome(agent: Any) -> None:
    with agent.superuser() as database:
        database.execute(TRANSFERS)
    die(agent, "transfer_tx", "during")
    assert agent.rows("SELECT recipient, amount FROM public.transfers") == []
    assert agent("resume", "t", expect=0)["status"] == "completed"
    assert agent.rows("SELECT recipient, amount FROM public.transfers") == [("bob", 5)]
    assert agent.world.count("transfer_tx.attempts") == 2


def test_a_timeout_is_no_failure(agent: Any) -> None:
    """The tool may still be at work: people are asked, and nothing runs again by itself."""
    agent.start(call("slow_transfer", PAY | {"seconds": 20}), say("Settled."))
    asked = agent("approve", "t", expect=3)["pending"][0]
    assert asked["kind"] == "unknown_outcome"
    assert "1" in asked["note"]
    ended = agent("resolve", "t", "--done", "it came late", expect=0)
    assert ended["status"] == "completed"
    assert agent.world.count("slow_transfer.attempts") == 1
    assert "it came late" in agent.told()[0]


def test_settled_although_the_tool_has_gone(agent: Any) -> None:
    asked = agent.start(call("transfer", {"to": "ann", "amount": 1}), say("done"))["pending"][0]["approval_id"]
    agent.cli("approve", asked, environment=agent.world.environment(crash="after")).expect(-9)
    unknown = agent("resume", "t", expect=3)["pending"][0]["approval_id"]
    agent.rewrite_tools("def transfer(to", "def transfer_money(to")
    agent.rewrite_tools("    transfer,", "    transfer_money,")
    ended = agent("resolve", unknown, "--done", "seen at the bank", expect=0)
    assert [one["status"] for one in ended["executions"]] == ["succeeded"]
    assert agent.world.count("transfer") == 1
    assert "seen at the bank" in agent.told()[0]


def test_a_check_that_fails_with_odd_text_asks_people(agent: Any) -> None:
    agent.rewrite_tools('ConnectionError("the bank cannot be asked")', 'ConnectionError("odd \\x00 \\udc80")')
    asked = agent.start(call("transfer_checked", {"to": "ann", "amount": 1}))["pending"][0]["approval_id"]
    agent.cli("approve", asked, environment=agent.world.environment(crash="after")).expect(-9)
    again = agent("resume", "t", expect=3, environment=agent.world.environment(unreachable=True))
    assert [one["kind"] for one in again["pending"]] == ["unknown_outcome"]
