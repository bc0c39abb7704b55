"""Port ledger: intent, effect, outcome; the gate and the fence."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import psycopg
import pytest
from contract.stores import Stores

from memory.errors import UnavailableError
from memory.leases import Lease, LeaseLostError
from memory.ledger import Execution, Result

DONE = Result("succeeded", "transferred")


async def begun(stores: Stores, lease: Lease) -> Execution:
    begin = await stores.ledger.begin(lease, stores.intent())
    assert begin.state == "go" and begin.execution
    return begin.execution


async def only(stores: Stores) -> Execution:
    execution, = await stores.ledger.of_thread("t")
    return execution


@pytest.mark.parametrize(
    ("decided", "changes", "why"),
    [
        (None, {"approval_id": None}, "no stored approval"),
        (None, {"approval_id": "b" * 32}, "no stored approval"),
        (None, {}, "pending, not approved"),
        ("reject", {}, "rejected, not approved"),
        ("cancel", {}, "cancelled, not approved"),
        ("approve", {"args_sha256": "another"}, "not what would run"),
        ("approve", {"call_key": "another"}, "no stored approval"),
    ],
)
async def test_the_gate_is_shut(stores: Stores, decided: str | None, changes: dict[str, Any], why: str) -> None:
    lease = await stores.begin_run()
    await stores.approvals.open([stores.question()])
    if decided:
        await stores.decide(decided)
    begin = await stores.ledger.begin(lease, stores.intent(**changes))
    assert begin.state == "refused" and why in begin.why
    assert await stores.ledger.of_thread("t") == [] and "execution_started" not in await stores.kinds()


async def test_a_question_of_another_kind_permits_nothing(stores: Stores) -> None:
    lease = await stores.begin_run()
    await stores.approvals.open([stores.question(kind="unknown_outcome", rules={**stores.question().rules, "attempt": 1})])
    await stores.decide("retry")
    assert (await stores.ledger.begin(lease, stores.intent())).state == "refused"


async def test_a_safe_call_needs_no_approval(stores: Stores) -> None:
    lease = await stores.begin_run()
    assert (await stores.ledger.begin(lease, stores.intent(critical=False, approval_id=None))).state == "go"


async def test_intent_and_outcome_are_on_the_record_and_what_is_done_is_returned(stores: Stores) -> None:
    lease = await stores.permitted()
    execution = await begun(stores, lease)
    assert (execution.status, execution.attempts, execution.idempotency_key) == ("started", 1, "key")
    assert (await stores.ledger.begin(lease, stores.intent())).state == "running"
    await stores.runs.release(lease)
    lease = await stores.runs.acquire("t", "first", 30)
    assert (await stores.ledger.begin(lease, stores.intent())).state == "unsettled"
    long = "ä" * 200_000
    await stores.ledger.finish(execution, Result("succeeded", long))
    again = await stores.ledger.begin(lease, stores.intent())
    assert again.state == "done" and again.execution and again.execution.result == long
    assert [kind for kind in await stores.kinds() if kind.startswith("execution")] == ["execution_started", "execution_succeeded"]
    assert await stores.faults() == []


async def test_a_failure_is_done_too(stores: Stores) -> None:
    lease = await stores.permitted()
    await stores.ledger.finish(await begun(stores, lease), Result("failed", "no money"))
    again = await stores.ledger.begin(lease, stores.intent())
    assert again.state == "done" and again.execution and (again.execution.status, again.execution.error) == ("failed", "no money")


Write = Callable[[Stores, Lease, Execution], Awaitable[Any]]


async def _never(connection: Any) -> Result:
    raise AssertionError("the effect was reached")


@pytest.mark.parametrize(
    "write",
    [
        lambda s, lease, _: s.ledger.begin(lease, s.intent(call_key="second", critical=False)),
        lambda s, lease, _: s.ledger.begin(lease, s.intent()),
        lambda s, lease, execution: s.ledger.again(lease, execution, why="safe"),
        lambda s, lease, execution: s.ledger.transact(lease, execution, _never),
        lambda s, lease, _: s.runs.settle(lease, seen_wake_seq=1, status="waiting"),
        lambda s, lease, _: s.runs.renew(lease, 30),
        lambda s, lease, _: s.runs.reopen(lease),
    ],
    ids=["begin", "begin what was begun", "again", "transact", "settle", "renew", "reopen"],
)
@pytest.mark.parametrize("same_name", [True, False])
async def test_an_outdated_lease_writes_nothing(stores: Stores, write: Write, same_name: bool) -> None:
    """The epoch is the fence, not the name: a process that took over from itself is another holder."""
    lease = await stores.permitted()
    execution = await begun(stores, lease)
    await stores.runs.release(lease)
    await stores.runs.acquire("t", "first" if same_name else "second", 30)
    before = (await only(stores), await stores.runs.get("t"), await stores.kinds())
    with pytest.raises(LeaseLostError):
        await write(stores, lease, execution)
    assert (await only(stores), await stores.runs.get("t"), await stores.kinds()) == before


async def test_a_call_that_is_begun_in_two_threads_at_once_is_begun_in_one(stores: Stores) -> None:
    """A fork is a copy: its calls have the keys of their originals."""
    copy = Stores(stores.runs, stores.approvals, stores.ledger, stores.audit, thread="copy")
    leases = [await stores.begin_run(), await copy.begin_run()]
    for number in range(10):
        call = {"call_key": f"key {number}", "critical": False, "approval_id": None}
        intents = [stores.intent(thread_id=lease.thread_id, **call) for lease in leases]
        both = await asyncio.gather(*map(stores.ledger.begin, leases, intents))
        assert sorted(one.state for one in both) == ["go", "refused"]
        assert "another thread" in next(one.why for one in both if one.state == "refused")


async def test_who_leaves_a_call_behind_may_still_be_at_it(stores: Stores) -> None:
    lease = await stores.permitted()
    execution = await begun(stores, lease)
    await stores.runs.release(lease)
    run = await stores.runs.get("t")
    assert run and not run.lease_live and run.lease_owner == "first"
    following = await stores.runs.acquire("t", "second", 30)
    assert not following.sure
    await stores.ledger.finish(execution, DONE)
    await stores.runs.release(following)
    assert (await stores.runs.acquire("t", "third", 30)).sure


async def test_late_news_of_an_earlier_attempt_is_kept_and_changes_nothing(stores: Stores) -> None:
    lease = await stores.permitted()
    first = await begun(stores, lease)
    second = await stores.ledger.again(lease, first, why="safe to repeat")
    assert second.attempts == 2
    with pytest.raises(LeaseLostError):
        await stores.ledger.again(lease, first, why="twice")
    await stores.ledger.finish(first, Result("failed", "late"))
    assert (await only(stores)).status == "started"
    await stores.ledger.finish(second, DONE)
    await stores.ledger.finish(first, Result("failed", "later still"))
    await stores.ledger.late(first, "last")
    assert ((await only(stores)).status, (await only(stores)).result) == ("succeeded", "transferred")
    assert (await stores.kinds()).count("execution_late") == 3


async def test_an_effect_of_our_database_commits_with_its_outcome(stores: Stores, database_url: str) -> None:
    lease = await stores.permitted()
    execution = await begun(stores, lease)

    async def effect(connection: Any) -> Result:
        await connection.execute("CREATE TABLE effect ()")
        return DONE

    assert await stores.ledger.transact(lease, execution, effect) == DONE
    assert _exists(database_url) and (await only(stores)).status == "succeeded"


@pytest.mark.parametrize("ends", ["failed", "unknown", "raises"])
async def test_an_effect_of_our_database_is_undone_with_its_outcome(stores: Stores, database_url: str, ends: str) -> None:
    lease = await stores.permitted()
    execution = await begun(stores, lease)

    async def effect(connection: Any) -> Result:
        await connection.execute("CREATE TABLE effect ()")
        if ends == "raises":
            raise KeyError(ends)
        return Result(ends, "no")  # type: ignore[arg-type]

    if ends == "raises":
        with pytest.raises(KeyError):
            await stores.ledger.transact(lease, execution, effect)
        assert (await only(stores)).status == "started"
    else:
        assert (await stores.ledger.transact(lease, execution, effect)).status == "failed"
        assert (await only(stores)).status == "failed"
    assert not _exists(database_url)


async def test_a_lost_session_is_no_answer_of_the_tool(stores: Stores, database_url: str) -> None:
    """Nothing happened, and the call stays as begun: the next run repeats it, and the model is told nothing wrong."""
    lease = await stores.permitted()
    execution = await begun(stores, lease)

    async def effect(connection: Any) -> Result:
        await connection.execute("CREATE TABLE effect ()")
        with pytest.raises(psycopg.OperationalError):
            await connection.execute("SELECT pg_terminate_backend(pg_backend_pid())")
        return Result("unknown", "no answer")

    with pytest.raises(UnavailableError):
        await stores.ledger.transact(lease, execution, effect)
    assert not _exists(database_url) and (await only(stores)).status == "started"


async def test_an_effect_of_our_database_is_undone_where_the_call_was_settled_meanwhile(stores: Stores, database_url: str) -> None:
    lease = await stores.permitted()
    first = await begun(stores, lease)
    await stores.ledger.again(lease, first, why="safe")

    async def effect(connection: Any) -> Result:
        await connection.execute("CREATE TABLE effect ()")
        return DONE

    with pytest.raises(LeaseLostError):
        await stores.ledger.transact(lease, first, effect)
    assert not _exists(database_url)


def _exists(url: str) -> bool:
    with psycopg.connect(url) as connection:
        return connection.execute("SELECT to_regclass('effect') IS NOT NULL").fetchone() == (True,)


@pytest.mark.parametrize(
    ("settle", "detail", "state", "status"),
    [
        ("done", {"text": "it is there"}, "done", "succeeded"),
        ("abandon", {}, "done", "abandoned"),
        ("retry", {}, "go", "started"),
    ],
)
async def test_what_is_unknown_is_asked_and_a_person_settles_it(
    stores: Stores, settle: str, detail: dict[str, Any], state: str, status: str
) -> None:
    lease = await stores.permitted()
    execution = await begun(stores, lease)
    asks = stores.question(approval_id="u" * 32, kind="unknown_outcome", rules={**stores.question().rules, "attempt": 1})
    await stores.ledger.give_up(execution, why="no answer", question=asks)
    assert [one.kind for one in await stores.approvals.pending()] == ["unknown_outcome"]
    assert (await stores.ledger.begin(lease, stores.intent())).state == "unsettled"
    await stores.decide(settle, approval_id="u" * 32, **detail)
    settled = await stores.ledger.begin(lease, stores.intent())
    assert (settled.state, settled.execution and settled.execution.status) == (state, status)
    assert settled.execution and settled.execution.attempts == (2 if settle == "retry" else 1)
    await stores.ledger.finish(execution, Result("failed", "an answer after all"))
    assert (await only(stores)).status == status
    assert (await stores.kinds())[-1] == "execution_late" and await stores.faults() == []


async def test_to_give_up_twice_asks_once(stores: Stores) -> None:
    lease = await stores.permitted()
    execution = await begun(stores, lease)
    asks = stores.question(approval_id="u" * 32, kind="unknown_outcome")
    for _ in range(2):
        assert await stores.ledger.give_up(execution, why="no answer", question=asks)
    assert (await stores.kinds()).count("execution_unknown") == 1 and len(await stores.approvals.pending()) == 1


@pytest.mark.parametrize(("ended", "news"), [(True, False), (False, True), (False, False)])
async def test_an_attempt_is_at_work_until_it_is_known_to_be_over(stores: Stores, ended: bool, news: bool) -> None:
    lease = await stores.permitted()
    assert await stores.ledger.at_work("key") is None
    execution = await begun(stores, lease)
    begun_by = await stores.ledger.at_work("key")
    assert begun_by and (begun_by.owner, begun_by.since >= execution.started_at) == (lease.owner, True)
    asks = stores.question(approval_id="u" * 32, kind="unknown_outcome", rules={**stores.question().rules, "attempt": 1})
    await stores.ledger.give_up(execution, why="no answer", question=asks, ended=ended)
    if news:
        await stores.ledger.late(execution, "an answer after all")
    assert await stores.ledger.at_work("key") == (None if ended or news else begun_by)
    await stores.decide("retry", approval_id="u" * 32)
    await stores.ledger.begin(lease, stores.intent())
    assert await stores.ledger.at_work("key") not in (None, begun_by), "the next attempt is at work, whatever became of the first"


async def _given_up_by_a_person(stores: Stores, lease: Lease, execution: Execution) -> None:
    asks = stores.question(approval_id="u" * 32, kind="unknown_outcome", rules={**stores.question().rules, "attempt": 1})
    await stores.ledger.give_up(execution, why="no answer", question=asks)
    await stores.decide("abandon", approval_id="u" * 32)
    await stores.ledger.past(lease, "key")


MEANWHILE: dict[str, Callable[[Stores, Lease, Execution], Awaitable[Any]]] = {
    "succeeded": lambda s, _, execution: s.ledger.finish(execution, DONE),
    "failed": lambda s, _, execution: s.ledger.finish(execution, Result("failed", "no money")),
    "started": lambda s, lease, execution: s.ledger.again(lease, execution, why="safe to repeat"),
    "abandoned": _given_up_by_a_person,
}


@pytest.mark.parametrize("status", MEANWHILE)
async def test_to_give_up_what_was_settled_meanwhile_asks_nobody(stores: Stores, status: str) -> None:
    lease = await stores.permitted()
    execution = await begun(stores, lease)
    await MEANWHILE[status](stores, lease, execution)
    before = (await only(stores), await stores.kinds())
    assert before[0].status == status
    asks = stores.question(approval_id="v" * 32, kind="unknown_outcome")
    assert not await stores.ledger.give_up(execution, why="no answer", question=asks)
    assert await stores.approvals.pending() == [] and await stores.approvals.get("v" * 32) is None
    assert (await only(stores), await stores.kinds()) == before


async def test_an_answer_of_one_attempt_does_not_settle_the_next(stores: Stores) -> None:
    lease = await stores.permitted()
    first = await begun(stores, lease)
    rules = stores.question().rules
    asks = stores.question(approval_id="u" * 32, kind="unknown_outcome", rules={**rules, "attempt": 1})
    await stores.ledger.give_up(first, why="x", question=asks)
    await stores.decide("retry", approval_id="u" * 32)
    begin = await stores.ledger.begin(lease, stores.intent())
    assert begin.execution
    await stores.ledger.give_up(
        begin.execution, why="x", question=stores.question(approval_id="v" * 32, kind="unknown_outcome", rules={**rules, "attempt": 2})
    )
    assert (await stores.ledger.begin(lease, stores.intent())).state == "unsettled"
