"""What is done and its place on the record are one transaction: where nothing can be recorded, nothing happens."""

from collections.abc import Awaitable, Callable
from typing import Any

import psycopg
import pytest
from contract.stores import ALICE, Stores

from memory.leases import Lease
from memory.ledger import Execution, Result
from memory.postgres.database import Database
from memory.postgres.operators import PostgresOperators
from memory.runs import NewRun

Work = Callable[[Any], Awaitable[Any]]
RECORDED: dict[str, tuple[str, Work]] = {
    "a start": ("thread_started", lambda all: all.runs.create(NewRun("new", "pay", ALICE, ALICE, "default", "1", "1"))),
    "an adoption": ("thread_adopted", lambda all: all.runs.create(NewRun("new", "pay", ALICE, ALICE, "default", "1", "1"), adopted=True)),
    "a takeover": ("process_taken_over", lambda all: all.runs.acquire("t", "second", 30, dead_owner="first")),
    "a question": ("approval_requested", lambda all: all.approvals.open([all.question(approval_id="b" * 32)])),
    "a pre-approval": ("approval_decided", lambda all: all.approvals.pre_approve(all.question(approval_id="b" * 32))),
    "a vote": ("vote_cast", lambda all: all.decide("approve", approval_id="2" * 32)),
    "a decision": ("approval_decided", lambda all: all.decide("approve", approval_id="1" * 32)),
    "a withdrawal": ("approval_decided", lambda all: all.decide("cancel", approval_id="1" * 32)),
    "an expiry": ("approval_expired", lambda all: all.decide("expire", approval_id="1" * 32)),
    "an intent": ("execution_started", lambda all: all.ledger.begin(all.lease, all.intent(call_key="other", critical=False))),
    "another attempt": ("execution_started", lambda all: all.ledger.again(all.lease, all.begun, why="safe")),
    "a success": ("execution_succeeded", lambda all: all.ledger.finish(all.begun, Result("succeeded", "paid"))),
    "a failure": ("execution_failed", lambda all: all.ledger.finish(all.begun, Result("failed", "no money"))),
    "what nobody knows": (
        "execution_unknown",
        lambda all: all.ledger.give_up(all.begun, why="x", question=all.question(approval_id="u" * 32, kind="unknown_outcome")),
    ),
    "late news": ("execution_late", lambda all: all.ledger.late(all.begun, "paid after all")),
    "a wish to cancel": ("cancel_requested", lambda all: all.runs.request_cancel("t", ALICE, "enough")),
    "an end": ("thread_ended", lambda all: all.runs.settle(all.lease, seen_wake_seq=1, status="completed")),
    "a new operator": ("operator_added", lambda all: all.operators.add("bob", 1, "hash", ALICE, seconds=None)),
    "an operator less": ("operator_revoked", lambda all: all.operators.revoke("ada", ALICE)),
}


class All(Stores):
    lease: Lease
    begun: Execution
    operators: PostgresOperators


@pytest.fixture
async def all_stores(stores: Stores, database: Database) -> All:
    made = All(stores.runs, stores.approvals, stores.ledger, stores.audit)
    made.operators = PostgresOperators(database)
    made.lease = await made.permitted()
    begun = await made.ledger.begin(made.lease, made.intent())
    assert begun.execution
    made.begun = begun.execution
    await made.approvals.open([made.question(approval_id="1" * 32), made.question(approval_id="2" * 32, required=2)])
    await made.operators.add("ada", 1, "hash of ada", ALICE, seconds=None)
    return made


def everything(url: str) -> dict[str, Any]:
    with psycopg.connect(url) as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'interlock' ORDER BY 1").fetchall()
        return {name: connection.execute(f"SELECT t::text FROM interlock.{name} t ORDER BY 1").fetchall() for (name,) in tables}


@pytest.mark.parametrize("what", RECORDED)
async def test_nothing_happens_that_cannot_be_recorded(all_stores: All, database_url: str, what: str) -> None:
    kind, work = RECORDED[what]
    signature = "interlock.audit(text, text, text, text, text)"
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(f"ALTER FUNCTION {signature} RENAME TO away")
        before = everything(database_url)
        with pytest.raises(psycopg.errors.UndefinedFunction):
            await work(all_stores)
        assert everything(database_url) == before
        connection.execute(f"ALTER FUNCTION {signature.replace('audit', 'away')} RENAME TO audit")
    await work(all_stores)
    added = [event for event in await all_stores.audit.events() if event.kind == kind]
    assert added
    assert {name for name, rows in everything(database_url).items() if rows != before[name]} > {"audit_event", "audit_head"}
