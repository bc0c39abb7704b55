"""What a rule lets run at once is looked at afterwards: all of it, or the share that the rule names, by who may decide it."""

from pathlib import Path
from typing import Any

import pytest
from bench.openai_server import call, say

RULES = """
[tiers]
1 = ["alice", "bob"]

[defaults]
sources = ["token", "claimed"]

[[rule]]
name = "small change"
when = 'tool == "transfer" && args.amount <= 10'
verdict = "pre_approve"
review = {share}
"""


@pytest.fixture
def paid(agent: Any, tmp_path: Path) -> Any:
    """A payment that ran without a person, under a rule that has this share of them reviewed."""

    def pay(share: float = 1, thread: str = "t") -> None:
        file = tmp_path / "policy.toml"
        file.write_text(RULES.format(share=share))
        agent.cli.environment["INTERLOCK_POLICY"] = str(file)
        agent.start(call("transfer", {"to": "bob", "amount": 5}), say("Paid."), thread=thread, expect=0)

    return pay


def test_it_ran_at_once_and_is_reviewed_once(agent: Any, paid: Any) -> None:
    paid()
    one = agent("review", "list", expect=0)["reviews"][0]
    assert [row["review_id"] for row in agent("review", expect=0)["reviews"]] == [one["review_id"]]
    assert (one["tool"], one["args"], one["rule"], one["ran"]) == ("transfer", {"to": "bob", "amount": 5}, "small change", "succeeded")
    assert (one["status"], one["result"], one["overdue"]) == ("open", "transferred 5 to bob", False)
    assert "\n1 calls that ran without a person" in "\n" + agent.cli("inbox").expect(0).stderr
    stranger = agent("review", "accept", one["review_id"], "--as", "mallory", expect=6)
    assert stranger["error"]["code"] == "not_permitted"
    made = agent("review", "accept", "t", "--comment", "as it should be", "--as", "alice", expect=0)
    assert (made["status"], made["reviewer"], made["comment"]) == ("accepted", "alice", "as it should be")
    assert "review" not in agent.cli("inbox").expect(0).stderr
    again = agent("review", "flag", one["review_id"], "--comment", "no", "--as", "bob", expect=5)
    assert again["error"]["code"] == "already_reviewed" and "alice" in again["error"]["message"]
    assert agent("review", "list", expect=0)["reviews"] == []
    assert [row["status"] for row in agent("review", "list", "--all", expect=0)["reviews"]] == ["accepted"]
    said = [(event["kind"], event["actor"]) for event in agent.events() if event["kind"] in {"review_accepted", "refused_attempt"}]
    assert said == [("refused_attempt", "mallory"), ("review_accepted", "alice"), ("refused_attempt", "bob")]
    assert "as it should be" in agent.cli("replay", "t").expect(0).stdout


def test_a_flag_needs_words_and_says_how_to_undo_it(agent: Any, paid: Any) -> None:
    paid()
    agent("review", "flag", "t", "--as", "bob", expect=2)
    flagged = agent("review", "flag", "t", "--comment", "not to bob", "--as", "bob", expect=0)
    assert flagged["status"] == "flagged" and "transfer" in flagged["undo"]
    agent("review", "accept", "no-such", expect=4)


def test_what_nobody_looked_at_ages_where_everybody_sees_it(agent: Any, paid: Any) -> None:
    paid()
    with agent.superuser() as database:
        database.execute("UPDATE interlock.review SET opened_at = opened_at - interval '9 days'")
    listed = agent.cli("review", "list").expect(0)
    assert "9 d OVERDUE" in listed.stdout
    assert agent("review", "list", expect=0)["reviews"][0]["overdue"] is True


def test_a_share_of_nothing_reviews_nothing_and_the_record_says_so(agent: Any, paid: Any) -> None:
    paid(share=0)
    assert agent("review", "list", "--all", expect=0)["reviews"] == []
    asked = next(event["payload"] for event in agent.events() if event["kind"] == "approval_requested")
    assert (asked["rules"]["review"], asked["rules"]["drawn"]) == (0.0, False)
