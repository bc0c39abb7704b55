"""Who may decide: tokens, tiers, four eyes, escalation and deadlines, as a policy file outside the project says it."""

import time
from pathlib import Path
from typing import Any

import pytest
from bench.openai_server import call, say

PAY = {"to": "bob", "amount": 5}
POLICY = """
[tiers]
1 = ["alice", "bob", "carol"]
2 = ["carol"]

[[rule]]
name = "payments"
when = 'tool == "transfer"'
verdict = "ask"
tier = 1
sources = ["token", "claimed"]
{more}
"""


@pytest.fixture
def asked(agent: Any, tmp_path: Path) -> Any:
    """A payment that waits, under the given terms."""

    def ask(more: str = "", requester: str = "dora") -> dict[str, Any]:
        file = tmp_path / "policy.toml"
        file.write_text(POLICY.format(more=more))
        agent.cli.environment["INTERLOCK_POLICY"] = str(file)
        agent.model.play(call("transfer", PAY), say("Done."))
        return agent("start", "pay bob", "--thread", "t", "--requester", requester, expect=3)

    return ask


def operator(agent: Any, name: str, tier: int = 1, *more: str) -> dict[str, str]:
    added = agent("operator", "add", name, "--tier", str(tier), *more, expect=0)
    return {"INTERLOCK_OPERATOR_TOKEN": added["token"]}


def decide(agent: Any, command: str, *options: str, by: dict[str, str] | None = None) -> Any:
    return agent.cli(command, "t", "--json", *options, environment=by or {})


def test_an_operator_with_a_token_decides_and_the_record_names_them(agent: Any, asked: Any) -> None:
    asked()
    alice = operator(agent, "alice")
    decide(agent, "approve", by=alice).expect(0)
    decision = agent.rows("SELECT actor, actor_source FROM interlock.decision")
    assert [tuple(row.values()) if isinstance(row, dict) else tuple(row) for row in decision] == [("alice", "token")]
    assert agent.world.attempts("transfer") == 1


@pytest.mark.parametrize("wrong", ["unknown", "revoked", "expired"])
def test_a_token_that_is_not_in_force_decides_nothing_and_is_on_the_record(agent: Any, asked: Any, wrong: str) -> None:
    asked()
    token = {"INTERLOCK_OPERATOR_TOKEN": "ilk_guess"}
    if wrong == "revoked":
        token = operator(agent, "alice")
        agent("operator", "revoke", "alice", expect=0)
    if wrong == "expired":
        token = operator(agent, "alice", 1, "--expires", "1s")
        time.sleep(1.2)
    result = decide(agent, "approve", by=token).expect(6)
    assert result.json["error"]["code"] == "unknown_token"
    assert token["INTERLOCK_OPERATOR_TOKEN"] not in result.stdout + result.stderr
    assert agent.world.attempts("transfer") == 0
    assert "unknown_token" in [event["payload"].get("code") for event in agent("audit", "t", expect=0)["events"]]


def test_nobody_votes_under_a_name_beside_a_token(agent: Any, asked: Any) -> None:
    asked()
    decide(agent, "approve", "--as", "carol", by=operator(agent, "alice")).expect(2)
    assert agent("show", "t", expect=0)["status"] == "waiting"


def test_two_different_people_are_needed_where_two_are_asked_for(agent: Any, asked: Any) -> None:
    asked("required = 2")
    alice, bob = operator(agent, "alice"), operator(agent, "bob")
    assert decide(agent, "approve", by=alice).expect(3).json["pending"][0]["have"] == 1
    assert decide(agent, "approve", by=alice).expect(6).json["error"]["code"] == "voted_already"
    assert agent.world.attempts("transfer") == 0
    assert decide(agent, "approve", "--as", "alice").expect(6).json["error"]["code"] == "voted_already", "alice, whoever says so"
    decide(agent, "approve", by=bob).expect(0)
    assert agent.world.attempts("transfer") == 1


def test_who_approves_by_the_digest_approves_what_they_saw(agent: Any, asked: Any) -> None:
    first = asked("required = 2")["pending"][0]
    alice, bob, carol = (operator(agent, name) for name in ("alice", "bob", "carol"))
    decide(agent, "modify", "--set", "to=mallory", by=bob).expect(3)
    stale = decide(agent, "approve", "--digest", first["args_sha256"][:12], by=alice).expect(5)
    assert stale.json["error"]["code"] == "stale" and agent.world.attempts("transfer") == 0
    shown = agent.cli("show", "t").expect(0)
    assert "modified by" in shown.stdout and "bob (token)" in shown.stdout and '"bob"' in shown.stdout
    [now] = agent("show", "t", expect=0)["pending"]
    assert (now["args"]["to"], now["proposed_args"]["to"], now["modified_by"]) == ("mallory", "bob", "bob (token)")
    assert f"--digest {now['args_sha256'][:12]}" in shown.stderr
    decide(agent, "approve", "--digest", now["args_sha256"][:12], by=carol).expect(0)
    assert agent.world.lines("transfer") == ["5 to mallory"]
    assert "refused_attempt" in agent.kinds()


def test_names_that_are_claimed_are_one_voter(agent: Any, asked: Any) -> None:
    asked("required = 2")
    decide(agent, "approve", "--as", "alice").expect(3)
    decide(agent, "approve", "--as", "bob").expect(6)
    assert agent.world.attempts("transfer") == 0


def test_four_eyes_under_any_name_and_source(agent: Any, asked: Any) -> None:
    asked("four_eyes = true", requester="alice")
    assert decide(agent, "approve", by=operator(agent, "alice")).expect(6).json["error"]["code"] == "four_eyes"
    assert decide(agent, "approve", "--as", "alice").expect(6).json["error"]["code"] == "four_eyes"
    assert decide(agent, "approve", "--as", "bob").expect(6).json["error"]["code"] == "four_eyes"
    decide(agent, "approve", by=operator(agent, "bob")).expect(0)


def test_who_is_not_listed_or_of_a_lower_tier_may_not_decide(agent: Any, asked: Any) -> None:
    asked()
    assert decide(agent, "approve", by=operator(agent, "mallory", 9)).expect(6).json["error"]["code"] == "not_permitted"
    assert agent.world.attempts("transfer") == 0


def test_escalated_it_is_a_new_question_to_the_next_tier_only(agent: Any, asked: Any) -> None:
    first = asked()["pending"][0]
    alice, carol = operator(agent, "alice"), operator(agent, "carol", 2)
    raised = decide(agent, "escalate", "--comment", "too much for me", by=alice).expect(3).json["pending"]
    assert len(raised) == 1 and raised[0]["tier"] == 2
    assert raised[0]["approval_id"] != first["approval_id"]
    assert raised[0]["args_sha256"] == first["args_sha256"]
    decide(agent, "approve", by=alice).expect(6)
    assert decide(agent, "escalate", by=carol).expect(6).json["error"]["code"] == "no_higher_tier"
    stale = agent.cli("approve", first["approval_id"], "--json", environment=carol).expect(5)
    assert stale.json["error"]["code"] == "already_decided"
    assert agent.world.attempts("transfer") == 0
    decide(agent, "approve", by=carol).expect(0)
    assert agent.world.attempts("transfer") == 1


def test_c081_nobody_in_time_is_told_apart_from_a_rejection(agent: Any, asked: Any) -> None:
    """Expired is not rejected: on the record, to the model, and to who comes late."""
    waiting = asked('deadline = "1s"\non_expiry = "reject"')
    time.sleep(1.3)
    ended = agent("resume", "t", expect=0)
    assert ended["status"] == "completed" and ended["pending"] == []
    kinds = {event["kind"]: event for event in agent("audit", "t", expect=0)["events"]}
    assert kinds["approval_expired"]["actor"] == "deadline"
    assert "approval_decided" not in kinds
    assert agent.world.attempts("transfer") == 0
    late = agent.cli("approve", waiting["pending"][0]["approval_id"], "--json", "--as", "alice").expect(5)
    assert late.json["error"]["status"] == "expired"


def test_c081_a_late_approval_is_refused_and_does_not_name_the_late_one_as_who_expired_it(agent: Any, asked: Any) -> None:
    """A late approval is refused as expired, and nothing runs."""
    asked('deadline = "1s"\non_expiry = "reject"')
    alice = operator(agent, "alice")
    time.sleep(1.3)
    assert decide(agent, "approve", by=alice).expect(6).json["error"]["code"] == "expired"
    events = {event["kind"]: event for event in agent("audit", "t", expect=0)["events"]}
    assert events["approval_expired"]["actor"] == "deadline"
    assert events["refused_attempt"]["actor"] == "alice"
    assert agent("resume", "t", expect=0)["status"] == "completed"
    assert agent.world.attempts("transfer") == 0


def test_a_deadline_can_raise_it_to_the_next_tier(agent: Any, asked: Any) -> None:
    asked('deadline = "1s"\non_expiry = "escalate"')
    carol = operator(agent, "carol", 2)
    time.sleep(1.3)
    raised = agent("resume", "t", expect=3)["pending"]
    assert [one["tier"] for one in raised] == [2]
    decide(agent, "approve", by=carol)
    assert agent.world.attempts("transfer") <= 1


def test_c081_approved_in_time_and_begun_too_late_is_asked_again(agent: Any, asked: Any) -> None:
    """The rule of the README: an approval counts for calls that begin before its deadline."""
    first = asked('deadline = "1h"\non_expiry = "reject"')["pending"][0]
    decide(agent, "approve", "--detach", by=operator(agent, "alice")).expect(0)
    with agent.superuser() as database:  # an hour later
        database.execute("UPDATE interlock.approval SET expires_at = clock_timestamp()")
    again = agent("resume", "t", expect=3)["pending"][0]
    assert again["approval_id"] != first["approval_id"] and again["args_sha256"] == first["args_sha256"]
    assert agent.world.attempts("transfer") == 0


def test_operators_are_listed_without_their_tokens_and_on_the_record(agent: Any) -> None:
    alice = operator(agent, "alice", 2)
    assert agent.cli("operator", "add", "alice", "--json").expect(5).json["error"]["code"] == "operator_exists"
    listed = agent.cli("operator", "list", "--json").expect(0)
    assert [(one["name"], one["tier"], one["in_force"]) for one in listed.json["operators"]] == [("alice", 2, True)]
    assert alice["INTERLOCK_OPERATOR_TOKEN"] not in listed.stdout
    assert agent.rows(f"SELECT 1 FROM interlock.operator WHERE token_sha256 = '{alice['INTERLOCK_OPERATOR_TOKEN']}'") == []
    agent("operator", "revoke", "alice", expect=0)
    record = agent("audit", "@operators", "--verify", expect=0)
    assert [event["kind"] for event in record["events"]] == ["operator_added", "operator_revoked"]
    assert record["verified"] is True
    agent.cli("start", "x", "--thread", "@operators", "--json").expect(2)
