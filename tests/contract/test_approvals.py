"""Port approvals: one transaction a decision, one winner, votes, and refused attempts on the record."""

import asyncio
import hmac
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from contract.stores import ALICE, BOB, CAROL, RULES, Stores

from graph.approval import judge_with
from memory.approvals import Approval, Ballot, Revision
from memory.errors import AlreadyDecidedError, ConflictError, InterlockError, NotFoundError, RefusedError, StaleError
from memory.leases import LeaseLostError
from memory.moments import moment
from memory.people import Identity
from memory.postgres.database import Database
from memory.postgres.operators import PostgresOperators
from memory.runs import NewRun


async def test_to_open_is_idempotent(stores: Stores) -> None:
    await stores.begin_run()
    first, = await stores.approvals.open([stores.question()])
    again, other = await stores.approvals.open([stores.question(note="another"), stores.question(approval_id="b" * 32)])
    assert (first, first.status, first.version, first.have) == (again, "pending", 1, 0) and other.approval_id == "b" * 32
    assert (await stores.kinds()).count("approval_requested") == 2


async def test_it_opens_once_for_eight_at_once(stores: Stores) -> None:
    await stores.begin_run()
    opened = await asyncio.gather(*(stores.approvals.open([stores.question()]) for _ in range(8)))
    assert len({one.requested_at for one, in opened}) == 1
    assert (await stores.kinds()).count("approval_requested") == 1


async def test_one_of_eight_wins_and_the_others_are_told_who_and_when(stores: Stores) -> None:
    await stores.begin_run()
    await stores.approvals.open([stores.question()])
    people = [Identity(f"person {number}", "token") for number in range(8)]
    kinds = ["approve", "reject"] * 4
    ends = await asyncio.gather(*(stores.decide(kind, by) for kind, by in zip(kinds, people, strict=True)), return_exceptions=True)
    winner, = [one for one in ends if not isinstance(one, BaseException)]
    losers = [one for one in ends if isinstance(one, AlreadyDecidedError)]
    assert len(losers) == 7 and winner.outcome and winner.decided_at
    assert {(one.data["by"], one.data["at"]) for one in losers} == {(winner.outcome["by"], moment(winner.decided_at))}
    kinds_now = await stores.kinds()
    assert (kinds_now.count("approval_decided"), kinds_now.count("refused_attempt")) == (1, 7)
    run = await stores.runs.get("t")
    assert run and run.wake_seq == 1 and await stores.faults() == []


async def test_what_is_not_there_cannot_be_decided(stores: Stores) -> None:
    await stores.begin_run()
    with pytest.raises(NotFoundError):
        await stores.decide("approve")


async def test_a_judge_that_fails_leaves_nothing(stores: Stores) -> None:
    await stores.begin_run()
    await stores.approvals.open([stores.question()])

    def judge(*_: Any) -> Any:
        raise RefusedError("no", code="not_permitted")

    from memory.approvals import Ballot

    with pytest.raises(RefusedError):
        await stores.approvals.decide("a" * 32, Ballot("approve", BOB, "please"), judge)
    one = await stores.approvals.get("a" * 32)
    run = await stores.runs.get("t")
    assert one and run and (one.status, one.have, run.wake_seq) == ("pending", 0, 0)
    event = (await stores.audit.events("t"))[-1]
    assert (event.kind, event.actor, event.actor_source) == ("refused_attempt", "bob", "token") and "not_permitted" in event.payload


async def test_two_must_agree_and_one_counts_once(stores: Stores) -> None:
    await stores.begin_run()
    await stores.approvals.open([stores.question(required=2)])
    first = await stores.decide("approve", ALICE)
    assert (first.status, first.have) == ("pending", 1)
    with pytest.raises(RefusedError) as refused:
        await stores.decide("approve", ALICE)
    assert refused.value.code == "voted_already"
    run = await stores.runs.get("t")
    assert run and run.wake_seq == 0
    second = await stores.decide("approve", BOB)
    assert (second.status, second.have) == ("approved", 2)


async def test_the_unverified_are_one_voter(stores: Stores) -> None:
    await stores.begin_run()
    await stores.approvals.open([stores.question(required=2)])
    await stores.decide("approve", Identity("dave", "claimed"))
    with pytest.raises(RefusedError):
        await stores.decide("approve", Identity("erin", "ui"))
    assert (await stores.decide("approve", CAROL)).status == "approved"


async def test_a_modification_is_a_new_version_with_one_vote(stores: Stores) -> None:
    await stores.begin_run()
    before, = await stores.approvals.open([stores.question(required=2)])
    await stores.decide("approve", ALICE)
    modified = await stores.decide("modify", BOB, args={"to": "bob", "amount": 6})
    assert (modified.status, modified.version, modified.have) == ("pending", 2, 1)
    assert (modified.args["amount"], modified.proposed_args) == (6, before.args) and modified.args_sha256 != before.args_sha256
    with pytest.raises(StaleError):
        await stores.decide("approve", CAROL, seen=1)
    with pytest.raises(RefusedError):
        await stores.decide("approve", BOB, seen=2)
    assert (await stores.decide("approve", ALICE, seen=2)).status == "approved"


async def test_a_modification_that_meets_a_rule_with_a_deadline_has_that_deadline(stores: Stores) -> None:
    """And never a later one than it had."""
    await stores.begin_run()

    def validate(question: Approval, args: dict[str, Any]) -> Revision:
        return Revision(args, "new", 1, 2, {**question.rules, "deadline": args["seconds"]})

    for name, before, seconds, after in (("a", None, 60, 60), ("b", 60, 3600, 60), ("c", 60, None, 60), ("d", None, None, None)):
        [asked] = await stores.approvals.open([stores.question(approval_id=name * 32, deadline=before)])
        ballot = Ballot("modify", BOB, "", {"args": {"seconds": seconds}})
        now = await stores.approvals.decide(asked.approval_id, ballot, judge_with(validate))
        span = (now.expires_at - asked.requested_at).total_seconds() if now.expires_at else None
        assert span == after or (span and after and after <= span < after + 30), name


async def test_a_rejection_of_one_is_enough(stores: Stores) -> None:
    await stores.begin_run()
    await stores.approvals.open([stores.question(required=2)])
    await stores.decide("approve", ALICE)
    rejected = await stores.decide("reject", BOB, then="stop")
    assert rejected.status == "rejected" and rejected.outcome and rejected.outcome["then"] == "stop"


async def test_four_eyes(stores: Stores) -> None:
    await stores.begin_run()
    await stores.approvals.open([stores.question(rules={**RULES, "four_eyes": True})])
    with pytest.raises(RefusedError) as refused:
        await stores.decide("approve", ALICE)
    assert refused.value.code == "four_eyes"
    assert (await stores.decide("approve", BOB)).status == "approved"


async def test_a_source_that_the_rule_does_not_take(stores: Stores) -> None:
    await stores.begin_run()
    await stores.approvals.open([stores.question(rules={**RULES, "sources": ["token"]})])
    with pytest.raises(RefusedError):
        await stores.decide("approve", CAROL)


async def test_c054_c081_too_late(stores: Stores) -> None:
    """A vote after the deadline decides nothing; the clock is the database's."""
    await stores.begin_run()
    await stores.approvals.open([stores.question(deadline=0.0)])
    with pytest.raises(RefusedError) as refused:
        await stores.decide("approve")
    assert refused.value.code == "expired"
    one = await stores.approvals.get("a" * 32)
    run = await stores.runs.get("t")
    assert one and run and (one.status, one.have, run.wake_seq) == ("expired", 0, 1)
    assert (await stores.kinds())[-2:] == ["approval_expired", "refused_attempt"]
    with pytest.raises(AlreadyDecidedError):
        await stores.decide("approve")


async def test_only_a_settlement_answers_an_unknown_outcome(stores: Stores) -> None:
    await stores.begin_run()
    await stores.approvals.open([stores.question(kind="unknown_outcome"), stores.question(approval_id="b" * 32)])
    for kind, name in (("approve", "a"), ("modify", "a"), ("reject", "a"), ("done", "b"), ("retry", "b"), ("abandon", "b")):
        with pytest.raises(InterlockError) as refused:
            await stores.decide(kind, approval_id=name * 32, args={})
        assert refused.value.code == "wrong_kind"


async def test_it_is_found_by_id_prefix_and_thread(stores: Stores) -> None:
    await stores.begin_run()
    one, = await stores.approvals.open([stores.question(approval_id="abcdef" + "0" * 26)])
    for name in (one.approval_id, "abcdef", "ABCDEF0", "t"):
        assert await stores.approvals.find(name) == [one]
    for name in ("abcde", "abcdee", "", "%", "another"):
        assert await stores.approvals.find(name) == []
    await stores.decide("approve", approval_id=one.approval_id)
    assert await stores.approvals.find("t") == [] and len(await stores.approvals.find("abcdef")) == 1


async def test_a_thread_whose_name_looks_like_a_prefix_hides_no_approval(stores: Stores) -> None:
    """Whoever named the thread does not choose which question an answer reaches: both are found, and a caller has to say which."""
    await stores.begin_run()
    meant, = await stores.approvals.open([stores.question(approval_id="abcdef" + "0" * 26)])
    stores.thread = "abcdef"
    await stores.begin_run()
    of_thread, = await stores.approvals.open([stores.question(approval_id="1" * 32)])
    found = await stores.approvals.find("abcdef")
    assert sorted(one.approval_id for one in found) == [of_thread.approval_id, meant.approval_id]
    assert await stores.approvals.find("ABCDEF") == [meant], "names of threads are exact"
    for name, one in ((meant.approval_id, meant), ("abcdef0", meant), (of_thread.approval_id, of_thread)):
        assert await stores.approvals.find(name) == [one]
    await stores.decide("approve", approval_id=meant.approval_id)
    assert len(await stores.approvals.find("abcdef")) == 2, "that one is decided does not settle which was meant"
    await stores.decide("approve", approval_id=of_thread.approval_id)
    assert [one.approval_id for one in await stores.approvals.find("abcdef")] == [meant.approval_id]


async def test_a_thread_named_as_the_id_of_an_approval_elsewhere(stores: Stores) -> None:
    await stores.begin_run()
    meant, = await stores.approvals.open([stores.question()])
    stores.thread = meant.approval_id
    await stores.begin_run()
    other, = await stores.approvals.open([stores.question(approval_id="b" * 32)])
    assert {one.approval_id for one in await stores.approvals.find(meant.approval_id)} == {meant.approval_id, other.approval_id}
    assert await stores.approvals.find("t") == [meant]


async def test_pending_is_by_tier_and_oldest_first(stores: Stores) -> None:
    await stores.begin_run()
    for name, tier in (("c", 1), ("a", 2), ("b", 1)):
        await stores.approvals.open([stores.question(approval_id=name * 32, tier=tier)])
    assert [one.approval_id[0] for one in await stores.approvals.pending()] == ["c", "a", "b"]
    assert [one.approval_id[0] for one in await stores.approvals.pending(tier=1)] == ["c", "b"]
    assert len(await stores.approvals.pending(limit=2)) == 2 and await stores.approvals.waiting() == 3


# --- runs: the lease and the wake-up ---------------------------------------------------------------------------------


async def test_a_decision_that_comes_while_a_driver_leaves_is_not_lost(stores: Stores) -> None:
    lease = await stores.begin_run()
    await stores.approvals.open([stores.question()])
    seen = await stores.runs.get("t")
    await stores.decide("approve")
    assert seen and not await stores.runs.settle(lease, seen_wake_seq=seen.wake_seq, status="waiting")
    run = await stores.runs.get("t")
    assert run and run.lease_live and run.status == "running"
    assert await stores.runs.settle(lease, seen_wake_seq=run.wake_seq, status="waiting")


async def test_decisions_and_leaving_race(stores: Stores) -> None:
    """Whichever comes first: the driver sees it, or it is seen that no driver is there."""
    for number in range(20):
        stores.thread = f"t{number}"
        lease = await stores.begin_run()
        await stores.approvals.open([stores.question(approval_id=f"{number:032d}")])
        settled, _ = await asyncio.gather(
            stores.runs.settle(lease, seen_wake_seq=0, status="waiting"), stores.decide("approve", approval_id=f"{number:032d}")
        )
        run = await stores.runs.get(stores.thread)
        assert run and run.lease_live is not settled and run.wake_seq == 1


async def test_one_of_eight_gets_the_lease(stores: Stores) -> None:
    await stores.runs.release(await stores.begin_run())
    taken = await asyncio.gather(*(stores.runs.acquire("t", f"p{number}", 30) for number in range(8)), return_exceptions=True)
    leases = [one for one in taken if not isinstance(one, BaseException)]
    busy = [one for one in taken if isinstance(one, ConflictError)]
    assert len(leases) == 1 and leases[0].epoch == 2 and len(busy) == 7
    assert {one.code for one in busy} == {"busy"} and {one.data["owner"] for one in busy} == {leases[0].owner}


async def test_a_lease_that_ran_out_is_taken_over_and_that_is_on_the_record(stores: Stores) -> None:
    lease = await stores.begin_run()
    await stores.runs.renew(lease, 0)
    taken = await stores.runs.acquire("t", "second", 30)
    assert taken.epoch == lease.epoch + 1 and (await stores.kinds())[-1] == "process_taken_over"
    await stores.runs.release(lease)  # of the old one: no error, and no harm
    run = await stores.runs.get("t")
    assert run and run.lease_live and run.lease_owner == "second"
    with pytest.raises(LeaseLostError):
        await stores.runs.renew(lease, 30)


async def test_a_dead_owner_is_taken_over_at_once_and_no_other(stores: Stores) -> None:
    await stores.begin_run()
    with pytest.raises(ConflictError):
        await stores.runs.acquire("t", "second", 30, dead_owner="somebody")
    assert (await stores.runs.acquire("t", "second", 30, dead_owner="first")).epoch == 2


async def test_a_thread_is_created_once(stores: Stores) -> None:
    await stores.begin_run()
    with pytest.raises(ConflictError) as conflict:
        await stores.runs.create(NewRun("t", "again", BOB, BOB, "default", "1", "1"))
    run = await stores.runs.get("t")
    assert conflict.value.code == "thread_exists" and run and run.input == "pay" and (await stores.kinds()).count("thread_started") == 1
    assert replace(run) == run


async def test_a_settled_lease_is_gone(stores: Stores) -> None:
    lease = await stores.begin_run()
    assert await stores.runs.settle(lease, seen_wake_seq=0, status="completed", final_answer="Done.")
    with pytest.raises(LeaseLostError):
        await stores.runs.settle(lease, seen_wake_seq=0, status="failed")
    with pytest.raises(LeaseLostError):
        await stores.ledger.begin(lease, stores.intent(critical=False))
    await stores.runs.renew(lease, 30)  # a beat that was under way: no error, and no lease
    run = await stores.runs.get("t")
    assert run and run.lease_owner is None and not run.lease_live
    assert (run.status, run.final_answer) == ("completed", "Done.") and (await stores.kinds())[-1] == "thread_ended"


async def test_a_token_that_is_revoked_before_the_decision_decides_nothing(stores: Stores, database: Database) -> None:
    """Whenever it was looked at: a person can sit at a terminal for long."""
    await stores.begin_run()
    await stores.approvals.open([stores.question()])
    operators = PostgresOperators(database)
    await operators.add("alice", 1, "old", BOB, seconds=None)
    await operators.revoke("alice", BOB)
    with pytest.raises(RefusedError) as refused:
        await stores.decide("approve", ALICE)
    assert refused.value.code == "unknown_token" and (await stores.kinds())[-1] == "refused_attempt"
    await operators.add("alice", 1, "new", BOB, seconds=None)
    assert (await stores.decide("approve", ALICE)).status == "approved"


# --- secrets ---------------------------------------------------------------------------------------------------------


async def test_a_secret_is_on_the_record_as_a_keyed_digest(stores: Stores, database_url: str) -> None:
    """Equal ones look equal, and nobody without the key can try guesses."""
    await stores.begin_run()
    secret = stores.question(args={"to": "hunter2", "amount": 5}, secret=("to",))
    await stores.approvals.open([secret, replace(secret, approval_id="b" * 32, args={"to": "hunter3", "amount": 5})])
    await stores.decide("modify", args={"to": "hunter2", "amount": 6})
    await stores.ledger.begin(await stores.runs.acquire("t", "first", 30, dead_owner="first"), stores.intent(
        args={"to": "hunter2", "amount": 6}, args_sha256="hash of {'to': 'hunter2', 'amount': 6}", secret=("to",),
    ))  # fmt: skip
    told = [event.content for event in await stores.audit.events("t")]
    first, other = (one["args"]["to"] for one in told if "kind" in one)
    [decided] = [one for one in told if one.get("type") == "modify"]
    [started] = [one for one in told if "attempt" in one]
    with psycopg.connect(database_url) as connection:
        [key] = connection.execute("SELECT key FROM interlock.secret_key").fetchone() or [b""]
    digest = hmac.new(key, b'"hunter2"', "sha256").hexdigest()
    assert first == f"‹secret {digest}›" != other
    assert [decided["modified_args"], decided["detail"]["args"], started["args"]] == [{"to": first, "amount": 6}] * 3
    assert "hunter" not in str([{**one, "args_sha256": ""} for one in told])  # that stands for a hash, in this test


async def test_a_secret_that_was_left_masked_stays_as_it_was(stores: Stores) -> None:
    await stores.begin_run()
    await stores.approvals.open([stores.question(args={"to": "hunter2", "amount": 5}, secret=("to",))])
    changed = await stores.decide("modify", args={"to": "‹secret›", "amount": 6})
    assert changed.args == {"to": "hunter2", "amount": 6}


@pytest.mark.parametrize("source", ["process", "policy", "unknown"])
async def test_neither_the_agent_nor_a_process_is_ever_a_voter(stores: Stores, source: Any) -> None:
    await stores.begin_run()
    await stores.approvals.open([stores.question(rules={**RULES, "sources": [source]})])
    with pytest.raises(RefusedError) as refused:
        await stores.decide("approve", Identity("agent", source))
    assert refused.value.code == "not_permitted"
