"""Whatever people, clocks and drivers do in whatever order: nothing begins that the rules do not allow, and no decision is lost.

Random sequences go against the real stores on PostgreSQL, the real ruling and the real policy, and are compared with a second, plain
writing of the rules. What happens at once has to be explained by one order of the same things. PROPERTIES=N tries N of them, and
makes one that fails smaller.
"""

import asyncio
import itertools
import os
from collections.abc import Coroutine, Iterator
from copy import deepcopy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import psycopg
import pytest
from contract.stores import Stores
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from properties.rules import POLICY, Move, Person, Question, Thread, standing

from graph.approval import judge_with
from graph.calls import args_hash
from graph.deciding import Electorate, expire
from graph.facts import Facts
from graph.judging import validator
from graph.policy import load_policy
from memory.approvals import Ballot
from memory.audit import faults_of
from memory.errors import InterlockError
from memory.leases import Lease
from memory.people import Identity
from memory.postgres.approvals import PostgresApprovals
from memory.postgres.audit import PostgresAudit
from memory.postgres.database import Database
from memory.postgres.ledger import PostgresLedger
from memory.postgres.operators import PostgresOperators
from memory.postgres.runs import PostgresRuns
from memory.runs import NewRun
from tools.spec import Registry, tool

T = TypeVar("T")
TRIES = int(os.environ.get("PROPERTIES", "25"))
PHASES = tuple(Phase) if "PROPERTIES" in os.environ else (Phase.generate,)  # to make a failure smaller takes long
PEOPLE = [
    Person("alice", "token", 1), Person("bob", "token", 1), Person("carol", "token", 2), Person("dave", "token", 3),
    Person("ada", "token", 1), Person("ada@laptop", "os"), Person("dave@laptop", "os"), Person("alice", "claimed"),
    Person("dave", "claimed"), Person("dave", "ui"), Person("mallory", "token", 9), Person("carol", "token", 1), Person("agent", "process"),
    Person("policy", "policy"),
]  # fmt: skip
AMOUNTS = [5, 6, 500, 5000]

people = st.sampled_from(PEOPLE)
amounts = st.sampled_from(AMOUNTS)
places = st.sampled_from([0, 0, 0, 1, 2])
votes = st.sampled_from(["approve"] * 6 + ["modify"] * 2 + ["reject", "escalate", "cancel"])
looks = st.sampled_from(["now", "now", "now", "before", "never"])


@tool(is_critical=True)
def transfer(to: str, amount: int) -> str:
    """Transfer money."""
    raise AssertionError("nothing runs here")


class World:
    """The real stores, the real policy, and a loop to run them in from tests that are not asynchronous."""

    def __init__(self, url: str, folder: Path) -> None:
        file = folder / "policy.toml"
        file.write_text(POLICY)
        self.url, self.runner, self.database = url, asyncio.Runner(), Database(url, max_size=6)
        self.stores = Stores(
            PostgresRuns(self.database), PostgresApprovals(self.database), PostgresLedger(self.database), PostgresAudit(self.database)
        )
        self.registry = Registry([transfer])
        self.policy = load_policy(file, self.registry.names)
        self.electorate = Electorate(self.policy, PostgresOperators(self.database))
        self.sql = psycopg.connect(url, autocommit=True)
        self.threads = itertools.count()
        self(self.database.__aenter__())

    def __call__(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    def close(self) -> None:
        self.sql.close()
        self(self.database.__aexit__(None, None, None))
        self.runner.close()

    def hash(self, amount: int) -> str:
        known = self.registry.get("transfer")
        assert known
        return args_hash(known, {"to": "eve", "amount": amount})


@pytest.fixture
def world(database_url: str, tmp_path: Path) -> Iterator[World]:
    made = World(database_url, tmp_path)
    yield made
    made.close()


class Sequence(RuleBasedStateMachine):
    """One thread with one call, and everybody who can do something about it."""

    world: World  # set by the test

    @initialize(
        requester=people, starter=people, tier=st.sampled_from([1, 1, 1, 2, 3]), required=st.sampled_from([1, 2, 2, 3]),
        four_eyes=st.booleans(), sources=st.sampled_from([{"token"}, {"token", "os"}, {"token", "os", "claimed", "ui"}]),
        deadline=st.booleans(),
        on_expiry=st.sampled_from(["reject", "escalate"]),
    )  # fmt: skip
    def asked(self, requester: Person, starter: Person, **terms: Any) -> None:
        self.plain = Thread(requester, starter, [Question(**terms)])
        self.thread = f"t{next(self.world.threads)}"
        self.lease = self.world(self._ask(terms))

    async def _ask(self, terms: dict[str, Any]) -> Lease:
        stores = self.world.stores
        stores.thread = self.thread
        new = NewRun(self.thread, "pay", _identity(self.plain.requester), _identity(self.plain.starter), "default", "1", "1")
        await stores.runs.create(new)
        deadline = 3600.0 if terms["deadline"] else None
        rules = {
            "sources": sorted(terms["sources"]), "four_eyes": terms["four_eyes"], "on_expiry": terms["on_expiry"], "deadline": deadline,
            "rule": "r", "policy": "p",
        }  # fmt: skip
        await stores.approvals.open([stores.question(
            approval_id=self.thread.rjust(32, "0"), call_key=self.thread, args={"to": "eve", "amount": 5}, args_sha256=self.world.hash(5),
            tier=terms["tier"], required=terms["required"], rules=rules, deadline=deadline,
        )])  # fmt: skip
        return await stores.runs.acquire(self.thread, "driver", 3600)

    @rule(type=votes, by=people, of=places, look=looks, amount=amounts)
    def votes(self, type: Any, by: Person, of: int, look: str, amount: int) -> None:
        self._one(self._move(type, by, of, look, amount))

    @rule(by=st.sampled_from(PEOPLE[:7]))
    def approves_the_newest(self, by: Person) -> None:
        self._one(self._move("approve", by, len(self.plain.chain) - 1, "now", 0))

    @rule(by=st.sampled_from(PEOPLE[1:4]), other=st.sampled_from(PEOPLE[:4]))
    def two_approve_at_once(self, by: Person, other: Person) -> None:
        newest = len(self.plain.chain) - 1
        self._race([self._move("approve", one, newest, "now", 0) for one in (by, other)])

    @rule(of=places, amount=st.sampled_from(AMOUNTS[:3]))
    def tries_to_begin(self, of: int, amount: int) -> None:
        self._one(Move("begin", of, amount=amount))

    @rule()
    def begins_what_was_approved(self) -> None:
        for of, question in enumerate(self.plain.chain):
            if question.status == "approved":
                self._one(Move("begin", of, amount=question.amount))

    @rule(old=st.integers(0, 1))
    def the_driver_leaves(self, old: int) -> None:
        self._one(Move("leave", seen=self.plain.wakes - old))

    @rule()
    def a_driver_comes_back(self) -> None:
        self._one(Move("return"))

    @rule()
    def time_passes(self) -> None:
        """Every deadline there is runs out, by the database's clock; of a call that began, it is history."""
        self.world.sql.execute(LATE, (self.thread,))
        for question in self.plain.chain:
            question.late = question.deadline

    @rule(of=places)
    def looks_at_the_clock(self, of: int) -> None:
        self._one(Move("expire", of))

    @rule(data=st.data())
    def at_once(self, data: st.DataObject) -> None:
        newest = len(self.plain.chain) - 1
        moves = []
        for _ in range(data.draw(st.integers(2, 3))):
            kind = data.draw(st.sampled_from(["vote", "vote", "vote", "begin", "leave", "expire"]))
            if kind == "vote":
                moves.append(self._move(data.draw(votes), data.draw(people), newest, "now", data.draw(amounts)))
            elif kind == "begin":
                moves.append(Move("begin", newest, amount=self.plain.chain[newest].amount))
            else:
                moves.append(Move(kind, newest, seen=self.plain.wakes))
        self._race(moves)

    @invariant()
    def the_stores_hold_what_the_rules_say(self) -> None:
        assert self._standing() == (standing(self.plain), self.plain.wakes, self.plain.told)

    @invariant()
    def no_decision_is_lost(self) -> None:
        """Either somebody drives, or who looks for threads that were left finds this one."""
        if not self.plain.driven and self.plain.wakes > self.plain.left_at:
            assert self.thread in [run.thread_id for run in self.world(self.world.stores.runs.left())]

    def teardown(self) -> None:
        if hasattr(self, "plain"):
            self._begun_by_right()
            events, heads = (self.world(read(self.thread)) for read in (self.world.stores.audit.events, self.world.stores.audit.heads))
            assert faults_of(events, heads) == []

    def _move(self, kind: Any, by: Person, of: int, look: str, amount: int) -> Move:
        version = self.plain.chain[of].version if of < len(self.plain.chain) else 1
        return Move(kind, of, by, {"now": version, "before": version - 1, "never": None}[look], amount)

    def _one(self, move: Move) -> None:
        [came] = self._do([move])
        assert came == self.plain.play(move)

    def _race(self, moves: list[Move]) -> None:
        """Some order of them has to explain what came of each, and how the stores stand afterwards."""
        came, now = self._do(moves), self._standing()
        for order in itertools.permutations(range(len(moves))):
            tried = deepcopy(self.plain)
            results = {number: tried.play(moves[number]) for number in order}
            if [results[number] for number in range(len(moves))] == came and (standing(tried), tried.wakes, tried.told) == now:
                self.plain = tried
                return
        raise AssertionError(f"no order explains what came of {moves}: {came}, {now}")

    def _do(self, moves: list[Move]) -> list[str]:
        chain = [name for (name,) in self.world.sql.execute(CHAIN, (self.thread,))]

        async def together() -> list[str]:
            return await asyncio.gather(*(self._really(move, chain) for move in moves))

        return self.world(together())

    async def _really(self, move: Move, chain: list[str]) -> str:
        stores = self.world.stores
        name = chain[move.of] if move.of < len(chain) else "f" * 32
        try:
            if move.type == "leave":
                return "ok" if await stores.runs.settle(self.lease, seen_wake_seq=move.seen or 0, status="waiting") else "stays"
            if move.type == "return":
                self.lease = await stores.runs.acquire(self.thread, "driver", 3600)
                return "ok"
            return await self._begins_or_decides(move, chain, name)
        except InterlockError as error:
            return error.code

    async def _begins_or_decides(self, move: Move, chain: list[str], name: str) -> str:
        stores = self.world.stores
        if move.type == "begin":
            args = {"to": "eve", "amount": move.amount}
            intent = stores.intent(
                call_key=self.thread, thread_id=self.thread, args=args, args_sha256=self.world.hash(move.amount), approval_id=name,
                idempotency_key=self.thread,
            )  # fmt: skip
            return (await stores.ledger.begin(self.lease, intent)).state
        if move.type == "expire":
            if move.of < len(chain):
                await expire(stores.approvals, self.world.electorate, self.thread)
            return "ok" if move.of < len(chain) else "no_such_approval"
        assert move.by
        detail: dict[str, Any] = {"args": {"to": "eve", "amount": move.amount}} if move.type == "modify" else {}
        ballot = Ballot(move.type, _identity(move.by), "", detail, move.seen)
        validate = validator(self.world.registry, self.world.policy, Facts("x", "default", self.thread, datetime.now(UTC)))
        await stores.approvals.decide(name, ballot, judge_with(validate, await self.world.electorate.people(move.by.tier)))
        return "ok"

    def _standing(self) -> tuple[Any, ...]:
        row = self.world.sql.execute(STANDING, {"thread": self.thread}).fetchone()
        assert row
        chain, wakes, told = row
        return [tuple(one) for one in chain], wakes, told

    def _begun_by_right(self) -> None:
        """Read from the tables alone, without either writing of the rules: what began had its approvals, in time, from others."""
        rows = self.world.sql.execute(BEGUN, (self.thread,)).fetchall()
        assert len(rows) == bool(self.plain.began)
        for required, have, in_time, same, four_eyes, own in rows:
            assert have >= required
            assert in_time
            assert same
            assert not (four_eyes and own)


LATE = """
UPDATE interlock.approval a SET expires_at = clock_timestamp() - interval '1s'
WHERE thread_id = %s AND expires_at IS NOT NULL AND NOT EXISTS (SELECT FROM interlock.execution e WHERE e.approval_id = a.approval_id)
"""
CHAIN = "SELECT approval_id FROM interlock.approval WHERE thread_id = %s ORDER BY requested_at"
STANDING = """
SELECT (
    SELECT json_agg(json_build_array(a.status, a.version, (
        SELECT count(*) FROM interlock.decision d WHERE d.approval_id = a.approval_id AND d.version = a.version
        AND d.type IN ('approve', 'modify')), a.tier, a.required, a.args -> 'amount') ORDER BY a.requested_at)
    FROM interlock.approval a WHERE a.thread_id = r.thread_id
), r.wake_seq, (
    SELECT json_object_agg(kind, n) FROM (
        SELECT kind, count(*) AS n FROM interlock.audit_event e
        WHERE e.thread_id = r.thread_id AND kind NOT IN ('thread_started', 'process_began') GROUP BY kind) k
) FROM interlock.run r WHERE r.thread_id = %(thread)s
"""
BEGUN = """
SELECT a.required, count(DISTINCT d.voter), a.status = 'approved' AND coalesce(e.started_at <= a.expires_at, true),
    e.args_sha256 = a.args_sha256, (a.rules ->> 'four_eyes')::boolean,
    bool_or(split_part(d.actor, '@', 1) IN (split_part(r.requester, '@', 1), split_part(r.starter, '@', 1)))
FROM interlock.execution e JOIN interlock.approval a USING (approval_id) JOIN interlock.run r ON r.thread_id = e.thread_id
JOIN interlock.decision d ON d.approval_id = a.approval_id AND d.version = a.version AND d.type IN ('approve', 'modify')
WHERE e.thread_id = %s GROUP BY e.call_key, a.approval_id
"""


def _identity(person: Person) -> Identity:
    return Identity(person.name, person.source)  # type: ignore[arg-type]  # a text of the rules' second writing


@pytest.mark.timeout(600 if TRIES <= 25 else 7200)
def test_no_sequence_begins_what_the_rules_do_not_allow_or_loses_a_decision(world: World) -> None:
    Sequence.world = world
    chosen = settings(
        max_examples=TRIES, stateful_step_count=12, deadline=None, derandomize=True, database=None, phases=PHASES,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    run_state_machine_as_test(Sequence, settings=chosen)
