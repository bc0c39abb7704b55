"""Messages to people, as a web service outside gets them: one for each event, none that holds a run, no secret anywhere."""

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bench.openai_server import by_turn, call, say
from bench.webhook import SECRET, Webhook

PAY = {"to": "bob", "amount": 5}
POLICY = """
[tiers]
1 = ["alice"]
2 = ["carol"]

[defaults]
sources = ["token", "claimed"]

[[rule]]
name = "payments"
when = 'tool == "transfer"'
verdict = "ask"
{terms}

[notify]
urls = ["{url}"]
"""


@pytest.fixture
def hook() -> Iterator[Webhook]:
    with Webhook() as made:
        yield made


@pytest.fixture
def told(agent: Any, hook: Webhook, tmp_path: Path) -> Any:
    """A payment that waits, under the given terms and with the webhook in the policy file."""

    def start(terms: str = "", thread: str = "t") -> Any:
        file = tmp_path / "policy.toml"
        file.write_text(POLICY.format(terms=terms, url=hook.url))
        agent.cli.environment["INTERLOCK_POLICY"] = str(file)
        agent.model.always(by_turn(call("transfer", PAY), say("Done.")))
        return agent("start", "pay", "--thread", thread, expect=3)

    return start


def come(agent: Any, moment: str) -> None:
    """The moment is now, for every question that is open."""
    with agent.superuser() as database:
        database.execute(f"UPDATE interlock.approval SET {moment} = clock_timestamp() WHERE status = 'pending'")


def deliver(agent: Any, expect: int = 0) -> Any:
    """What the commands before had no time for is sent now."""
    return agent("notify", "--now", expect=expect)


def test_asked_and_ended_are_told_once_with_the_facts_and_what_to_type(agent: Any, told: Any, hook: Webhook) -> None:
    asked = told()["pending"][0]
    hook.wait_for(1)
    [message] = hook.received
    assert message["title"] == "interlock: may this run? transfer"
    for fact in (asked["approval_id"], asked["args_sha256"], '"bob"', f"interlock approve {asked['approval_id']}", "payments"):
        assert fact in message["message"]
    agent("approve", "t", "--as", "alice", expect=0)
    hook.wait_for(2)
    assert hook.titles()[1:] == ["interlock: thread t completed"]
    assert "interlock show t" in hook.received[1]["message"]
    assert deliver(agent) == {"sent": 0, "failed": 0, "left": []}
    assert len(hook.received) == 2
    everywhere = [agent.cli(*words).stdout for words in (("show", "t"), ("audit", "t"), ("notify", "--json"))]
    kept = agent.rows("SELECT string_agg(n::text, ' ') FROM interlock.notification n")
    assert SECRET not in " ".join([*everywhere, str(kept)])


def test_a_silent_service_holds_nobody_and_gets_it_again_later(agent: Any, told: Any, hook: Webhook) -> None:
    hook.answers = [None]
    told()
    hook.wait_for(1)
    ended = agent("approve", "t", "--as", "alice", expect=0)
    assert ended["status"] == "completed"
    with agent.superuser() as database:
        database.execute("UPDATE interlock.notification SET claimed_at = claimed_at - interval '1 hour'")
    deliver(agent)
    assert agent.rows("SELECT count(*) FROM interlock.notification WHERE sent_at IS NULL") == [(0,)]
    asked = [message["message"] for message in hook.received if "may this run" in message["title"]]
    assert len(asked) == 2 and len(hook.received) == 3


def test_a_service_that_refuses_is_tried_again_with_back_off(agent: Any, told: Any, hook: Webhook) -> None:
    hook.answers = [500]
    told()
    hook.wait_for(1)
    [waits] = agent.cli("notify", "--json").expect(0).json["left"]
    assert (waits["event"], waits["attempts"], waits["target"]) == ("asked", 1, 1)
    assert waits["next_at"] > waits["created_at"] and "did not take it" in waits["error"]
    hook.answers = [503]
    assert deliver(agent, expect=7)["failed"] == 1
    assert deliver(agent) == {"sent": 1, "failed": 0, "left": []}
    assert len(hook.received) == 3


def test_every_kind_of_need_is_told(agent: Any, told: Any, hook: Webhook) -> None:
    told('reminder = "1h"\ndeadline = "2h"\non_expiry = "escalate"')
    agent("recover", expect=0)
    come(agent, "remind_at")
    agent("recover", expect=0)
    hook.wait_for(2)
    assert hook.titles()[1] == "interlock: still waiting for a decision transfer"
    assert agent.kinds().count("approval_reminded") == 1
    come(agent, "expires_at")
    agent("recover", expect=0)
    hook.wait_for(3)
    assert hook.titles()[2] == "interlock: handed on to the next tier transfer"
    come(agent, "expires_at")
    agent("recover", expect=0)
    hook.wait_for(5)
    deliver(agent)
    assert set(hook.titles()[3:]) >= {"interlock: nobody decided in time transfer", "interlock: thread t completed"}
    assert agent.kinds().count("approval_reminded") == 1


def test_a_worker_goes_on_reminds_and_tells_until_it_is_ended(agent: Any, told: Any, hook: Webhook) -> None:
    told('reminder = "1h"', thread="reminded")
    come(agent, "remind_at")
    agent("start", "pay", "--thread", "t", expect=3)
    agent("approve", "t", "--as", "alice", "--detach", expect=0)
    worker = agent.cli.spawn("worker", "--json")
    hook.wait_for(4)
    worker.signal(signal.SIGTERM)
    assert worker.wait().expect(0).json["stopped"] is True
    assert agent("show", "t", expect=0)["status"] == "completed"
    assert agent.world.lines("transfer") == ["5 to bob"]
    assert hook.titles().count("interlock: still waiting for a decision transfer") == 1


def test_a_url_that_cannot_be_used_is_refused_without_showing_it(agent: Any, tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(f'[notify]\nurls = ["nonsense://{SECRET}@nowhere"]\n')
    refused = agent.cli("policy", "check", str(file), "--json").expect(2)
    assert refused.json["error"]["code"] == "bad_policy"
    assert SECRET not in refused.stdout + refused.stderr
