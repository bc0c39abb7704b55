"""Port ledger: what undoes an effect. The gate wants a stored wish that names it, or an approval of its own, and something to undo."""

from typing import Any

import pytest
from contract.stores import Stores

from memory.approvals import NewApproval
from memory.leases import Lease
from memory.ledger import Intent, Result

WISH, OWN = "w" * 32, "c" * 32


async def effect(stores: Stores, *, ended: str | None = "succeeded") -> Lease:
    lease = await stores.permitted()
    begun = await stores.ledger.begin(lease, stores.intent(undo="take_back"))
    if ended and begun.execution:
        await stores.ledger.finish(begun.execution, Result(ended, "transferred"))  # type: ignore[arg-type]
    return lease


async def wished(stores: Stores, *keys: str, then: str = "compensate") -> None:
    await stores.approvals.open([stores.question(approval_id=WISH, call_key="other")])
    await stores.decide("reject", approval_id=WISH, then=then, undo=list(keys))


def question(stores: Stores, **changes: Any) -> NewApproval:
    own = {"approval_id": OWN, "kind": "compensation", "call_key": "undo", "args_sha256": "undo hash", "tool": "take_back", **changes}
    return stores.question(**own)


def undo(stores: Stores, **changes: Any) -> Intent:
    usual = {"call_key": "undo", "tool": "take_back", "args_sha256": "undo hash", "critical": False, "undoes": "key", "approval_id": WISH}
    return stores.intent(**{**usual, **changes})


async def test_a_wish_that_names_the_effect_lets_its_undo_run_once(stores: Stores) -> None:
    lease = await effect(stores)
    await wished(stores, "key")
    begun = await stores.ledger.begin(lease, undo(stores))
    assert begun.state == "go" and begun.execution and begun.execution.undoes == "key"
    assert (await stores.ledger.begin(lease, undo(stores))).state == "running"
    await stores.ledger.finish(begun.execution, Result("succeeded", "taken back"))
    assert (await stores.ledger.begin(lease, undo(stores))).state == "done"
    assert [one.undo for one in await stores.ledger.of_thread("t")] == ["take_back", None]


@pytest.mark.parametrize(
    ("keys", "then", "changes"),
    [
        (("another",), "compensate", {}),
        (("key",), "stop", {}),
        (("key",), "compensate", {"critical": True}),
        (("key",), "compensate", {"undoes": "nothing"}),
        (("key",), "compensate", {"approval_id": "a" * 32}),
        (("key",), "compensate", {"approval_id": None}),
    ],
)
async def test_the_gate_is_shut_for_every_other_wish(stores: Stores, keys: Any, then: str, changes: dict[str, Any]) -> None:
    lease = await effect(stores)
    await wished(stores, *keys, then=then)
    assert (await stores.ledger.begin(lease, undo(stores, **changes))).state == "refused"
    assert len(await stores.ledger.of_thread("t")) == 1


@pytest.mark.parametrize("ended", [None, "failed"])
async def test_what_did_not_surely_happen_is_not_undone(stores: Stores, ended: str | None) -> None:
    lease = await effect(stores, ended=ended)
    await wished(stores, "key")
    begun = await stores.ledger.begin(lease, undo(stores))
    assert begun.state == "refused" and "no effect" in begun.why


@pytest.mark.parametrize(
    ("decided", "changes", "state"),
    [
        ("approve", {}, "go"),
        ("reject", {}, "refused"),
        (None, {}, "refused"),
        ("approve", {"args_sha256": "another"}, "refused"),
        ("approve", {"call_key": "another"}, "refused"),
    ],
)
async def test_an_approval_of_its_own(stores: Stores, decided: str | None, changes: dict[str, Any], state: str) -> None:
    lease = await effect(stores)
    await stores.approvals.open([question(stores)])
    if decided:
        await stores.decide(decided, approval_id=OWN)
    assert (await stores.ledger.begin(lease, undo(stores, approval_id=OWN, critical=True, **changes))).state == state


async def test_what_is_refused_is_put_down_once_and_cannot_begin_any_more(stores: Stores) -> None:
    lease = await effect(stores)
    await wished(stores, "key")
    for _ in range(2):
        await stores.ledger.refuse(lease, undo(stores), why="the policy forbids it")
    assert (await stores.ledger.begin(lease, undo(stores))).state == "done"
    assert (await stores.kinds()).count("execution_failed") == 1
    for _ in range(2):
        await stores.ledger.compensated(lease, {"undone": []})
    assert (await stores.kinds()).count("compensation_ended") == 1


async def test_to_give_up_an_undo_that_was_settled_meanwhile_asks_nobody(stores: Stores) -> None:
    """The effect that it undoes is another call: that one's end counts for nothing here."""
    lease = await effect(stores)
    await wished(stores, "key")
    begun = await stores.ledger.begin(lease, undo(stores))
    assert begun.execution
    await stores.ledger.finish(begun.execution, Result("succeeded", "taken back"))
    before = await stores.kinds()
    asks = question(stores, kind="unknown_outcome")
    assert not await stores.ledger.give_up(begun.execution, why="no answer", question=asks)
    assert await stores.approvals.get(OWN) is None and await stores.kinds() == before


async def test_an_undo_of_which_nobody_knows_is_given_up_although_its_effect_is_known(stores: Stores) -> None:
    lease = await effect(stores)
    await wished(stores, "key")
    begun = await stores.ledger.begin(lease, undo(stores))
    assert begun.execution
    assert await stores.ledger.give_up(begun.execution, why="no answer", question=question(stores, kind="unknown_outcome"))
    assert [one.status for one in await stores.ledger.of_thread("t")] == ["succeeded", "unknown"]
    assert [one.kind for one in await stores.approvals.pending()] == ["unknown_outcome"]
