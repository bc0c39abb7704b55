"""What an undo meets between two looks at the ledger."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.world import World
from contract.stores import ALICE, Stores

from graph.app import open_app
from graph.settings import Settings
from graph.undoing import undo_all
from memory.ledger import Execution, Result


class AnsweredMeanwhile:
    """The ledger, where the answer of an attempt comes just before it is given up."""

    def __init__(self, ledger: Any) -> None:
        self._ledger = ledger

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ledger, name)

    async def give_up(self, execution: Execution, **words: Any) -> bool:
        await self._ledger.finish(execution, Result("succeeded", "it came after all"))
        given_up: bool = await self._ledger.give_up(execution, **words)
        return given_up


async def test_an_undo_whose_answer_came_meanwhile_asks_nobody_and_the_next_goes_on(
    database_url: str, tmp_path: Path, world: World
) -> None:
    settings = Settings(home=tmp_path, database_url=database_url, tools=("bench.undo_tools:TOOLS",))
    async with open_app(settings) as application:
        ports = application.ports()
        stores = Stores(application.runs, application.approvals, application.ledger, application.audit)
        lease = await stores.begin_run()
        for name in ("rent", "call_up"):
            intent = stores.intent(call_key=name, tool=name, args={"what": "a"}, critical=False, approval_id=None, idempotency_key=name)
            way = application.registry.undo_of(name)
            assert way
            begun = await ports.ledger.begin(lease, replace(intent, undo=way.name))
            assert begun.execution
            await ports.ledger.finish(begun.execution, Result("succeeded", "done"))
        await stores.approvals.open([stores.question()])
        await stores.decide("reject", ALICE, then="compensate", undo=["rent", "call_up"])

        assert await undo_all(replace(ports, ledger=AnsweredMeanwhile(ports.ledger)), lease) is None  # type: ignore[arg-type]

        undone = {one.undoes: (one.status, one.result) for one in await ports.ledger.of_thread("t") if one.undoes}
        assert undone == {"call_up": ("succeeded", "it came after all"), "rent": ("succeeded", "given back a")}
        assert (world.count("perhaps"), world.count("unrent")) == (1, 1)
        assert await stores.approvals.pending() == [] and "execution_unknown" not in await stores.kinds()
