"""What a guarded thread stores: as much as where it stands needs. What was superseded goes in the commit that supersedes it."""

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from operator import add
from typing import Annotated, Any, TypedDict

import psycopg
import pytest
from langchain_core.messages import AIMessage, AnyMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import END, START, StateGraph, add_messages
from langgraph.types import Command, Send, interrupt

from memory.errors import StaleError
from memory.leases import held
from memory.people import Identity
from memory.postgres.database import Database
from memory.postgres.runs import PostgresRuns
from memory.postgres.saver import GuardedSaver
from memory.runs import NewRun

ALICE = Identity("alice", "os")
TABLES = ("checkpoints", "checkpoint_writes", "checkpoint_blobs")


class State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    steps: int


async def speak(state: State) -> Any:
    number = len(state["messages"])
    return {"messages": [AIMessage(random.Random(number).randbytes(300).hex(), id=str(number))]}


async def ask(state: State) -> Any:
    return {"messages": [AIMessage(f"{interrupt('what next?')}", id=str(len(state["messages"])))]}


def talk(saver: BaseCheckpointSaver[str], *, asking: bool = False) -> Any:
    """A graph that adds one message a step, of its own or of the one who is asked."""
    graph = StateGraph(State)
    graph.add_node("work", ask if asking else speak)
    graph.add_edge(START, "work")
    graph.add_conditional_edges("work", lambda state: "work" if len(state["messages"]) < state["steps"] else END, ["work", END])
    return graph.compile(checkpointer=saver)


def config(thread: str, checkpoint: str | None = None) -> Any:
    where = {"thread_id": thread, "checkpoint_ns": "", **({"checkpoint_id": checkpoint} if checkpoint else {})}
    return {"configurable": where, "recursion_limit": 200}


def new_checkpoint() -> Any:
    return {**empty_checkpoint(), "v": 4}


async def put(saver: GuardedSaver, checkpoint: Any, parent: Any = None) -> None:
    await saver.aput(config("t", parent["id"] if parent else None), checkpoint, {"source": "loop", "step": 1}, {})


@asynccontextmanager
async def driven(url: str, thread: str, *, adopted: bool = False) -> AsyncIterator[GuardedSaver]:
    """What a process has: a pool, a lease and a saver of its own."""
    async with Database(url) as database:
        runs = PostgresRuns(database)
        if await runs.get(thread) is None:
            await runs.create(NewRun(thread, "x", ALICE, ALICE, "default", "1", "1"), adopted=adopted)
        lease = held[thread] = await runs.acquire(thread, "here", 30)
        try:
            yield GuardedSaver(database.pool)
        finally:
            held.pop(thread, None)
            await runs.release(lease)


def stored(url: str, thread: str) -> dict[str, tuple[int, int]]:
    """Rows and bytes of a thread, by table."""
    query = "SELECT count(*), coalesce(sum(pg_column_size(t.*)), 0) FROM {} t WHERE thread_id = %s"
    with psycopg.connect(url) as connection:
        return {name: connection.execute(query.format(name), (thread,)).fetchone() for name in TABLES}  # type: ignore[misc, arg-type]


def rows(url: str, thread: str, table: str = "checkpoints") -> int:
    return stored(url, thread)[table][0]


def size(url: str, thread: str) -> int:
    return sum(int(size) for _, size in stored(url, thread).values())


async def test_c041_bytes_grow_with_the_steps_and_not_with_their_square(database_url: str) -> None:
    """A thread keeps its newest checkpoint only: stored bytes grow with its steps, not with their square."""
    sizes: dict[str, list[int]] = {"guarded": [], "bare": []}
    for steps in (30, 60):
        thread = f"t{steps}"
        async with driven(database_url, thread) as saver:
            await talk(saver).ainvoke({"messages": [], "steps": steps}, config(thread), durability="sync")
            await talk(saver).ainvoke({"messages": [], "steps": steps}, config(f"bare{steps}"), durability="sync")
        sizes["guarded"].append(size(database_url, thread))
        sizes["bare"].append(size(database_url, f"bare{steps}"))
        assert rows(database_url, thread) == 1
        assert rows(database_url, thread, "checkpoint_blobs") == 1, "the messages, once"
    growth = {name: last / first for name, (first, last) in sizes.items()}
    assert growth["bare"] > 3.5, "what is measured shows the square"
    assert growth["guarded"] < 2.2, sizes
    assert sizes["guarded"][1] < sizes["bare"][1] / 20, sizes


async def test_each_step_is_gone_on_from_by_a_new_process(database_url: str) -> None:
    steps, answers, sizes = 12, [], []
    value: Any = {"messages": [], "steps": steps}
    for number in range(steps):
        async with driven(database_url, "t") as saver:
            await talk(saver, asking=True).ainvoke(value, config("t"), durability="sync")
        async with driven(database_url, "t") as saver:
            state = await talk(saver, asking=True).aget_state(config("t"))
        assert state.next == ("work",) and [one.content for one in state.values["messages"]] == answers
        assert rows(database_url, "t") == 1
        answers.append(f"answer {number}")
        value = Command(resume={state.interrupts[0].id: answers[-1]})
        sizes.append(rows(database_url, "t", "checkpoint_writes"))
    async with driven(database_url, "t") as saver:
        ended = await talk(saver, asking=True).ainvoke(value, config("t"), durability="sync")
        assert [one.content for one in ended["messages"]] == answers
        assert (await talk(saver, asking=True).aget_state(config("t"))).next == ()
    assert max(sizes) <= 8, "pending writes go with their checkpoint, but for late ones of the step before"


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
async def test_every_durability_ends_at_the_same_state(database_url: str, durability: Any) -> None:
    async with driven(database_url, "t") as saver:
        ended = await talk(saver).ainvoke({"messages": [], "steps": 10}, config("t"), durability=durability)
    async with driven(database_url, "t") as saver:
        assert (await talk(saver).aget_state(config("t"))).values == ended
    assert rows(database_url, "t") == 1


async def test_a_checkpoint_that_does_not_get_in_drops_nothing(database_url: str) -> None:
    """Stopped after the function that drops, before the row is stored: where a crash between the two would be."""
    async with driven(database_url, "t") as saver:
        await talk(saver, asking=True).ainvoke({"messages": [AIMessage("before", id="0")], "steps": 3}, config("t"), durability="sync")
        before, state = stored(database_url, "t"), await talk(saver, asking=True).aget_state(config("t"))
        with psycopg.connect(database_url, autocommit=True) as connection:
            connection.execute("""
                CREATE FUNCTION crash() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                    ASSERT NOT EXISTS (SELECT FROM checkpoints WHERE thread_id = NEW.thread_id), 'the older one is still there';
                    RAISE EXCEPTION 'the power is cut';
                END $$;
                CREATE TRIGGER crash BEFORE INSERT ON checkpoints FOR EACH ROW EXECUTE FUNCTION crash()""")
            value = Command(resume={state.interrupts[0].id: "yes"})
            with pytest.raises(psycopg.Error, match="the power is cut"):
                await talk(saver, asking=True).ainvoke(value, config("t"), durability="sync")
            assert {name: stored(database_url, "t")[name] for name in ("checkpoints", "checkpoint_blobs")} == {
                name: before[name] for name in ("checkpoints", "checkpoint_blobs")
            }
            connection.execute("DROP FUNCTION crash CASCADE")
    async with driven(database_url, "t") as saver:
        went_on = await talk(saver, asking=True).ainvoke(value, config("t"), durability="sync")
    assert [one.content for one in went_on["messages"]] == ["before", "yes"]


async def test_threads_without_a_run_keep_every_checkpoint(database_url: str) -> None:
    async with Database(database_url) as database:
        for kind in (AsyncPostgresSaver, GuardedSaver):
            graph = talk(kind(database.pool))  # type: ignore[arg-type]
            await graph.ainvoke({"messages": [], "steps": 5}, config(kind.__name__), durability="sync")
            assert len([one async for one in graph.aget_state_history(config(kind.__name__))]) == 7
    counted = [{name: count for name, (count, _) in stored(database_url, kind).items()} for kind in ("AsyncPostgresSaver", "GuardedSaver")]
    assert counted[0] == counted[1]


async def test_an_update_from_outside_replaces_and_the_past_is_no_place_to_go_on_from(database_url: str) -> None:
    async with driven(database_url, "t") as saver:
        graph = talk(saver, asking=True)
        await graph.ainvoke({"messages": [], "steps": 3}, config("t"), durability="sync")
        past = (await graph.aget_state(config("t"))).config["configurable"]["checkpoint_id"]
        await graph.aupdate_state(config("t"), {"messages": [AIMessage("from outside", id="0")]}, as_node="work")
        assert rows(database_url, "t") == 1
        for attempt in (
            graph.aupdate_state(config("t", past), {"steps": 1}, as_node="work"),
            graph.ainvoke({"messages": [AIMessage("again", id="9")]}, config("t", past), durability="sync"),
        ):
            with pytest.raises(StaleError):
                await attempt
        state = await graph.aget_state(config("t"))
        assert [one.content for one in state.values["messages"]] == ["from outside"] and state.next == ("work",)


async def test_an_adopted_thread_goes_on_and_leaves_its_past(database_url: str) -> None:
    async with Database(database_url) as database:
        bare = talk(AsyncPostgresSaver(database.pool), asking=True)  # type: ignore[arg-type]
        await bare.ainvoke({"messages": [], "steps": 3}, config("t"), durability="sync")
        (question,) = (await bare.aget_state(config("t"))).interrupts
        await bare.ainvoke(Command(resume={question.id: "one"}), config("t"), durability="sync")
    assert rows(database_url, "t") == 3
    async with driven(database_url, "t", adopted=True) as saver:
        graph = talk(saver, asking=True)
        (question,) = (await graph.aget_state(config("t"))).interrupts
        assert rows(database_url, "t") == 3, "reading drops nothing"
        state = await graph.ainvoke(Command(resume={question.id: "two"}), config("t"), durability="sync")
    assert [one.content for one in state["messages"]] == ["one", "two"]
    assert rows(database_url, "t") == 1


async def test_late_writes_are_cleared_away_and_early_ones_stay(database_url: str) -> None:
    first, second, third, fourth = (new_checkpoint() for _ in range(4))
    async with driven(database_url, "t") as saver:
        await put(saver, first)
        await put(saver, second, first)
        await saver.aput_writes(config("t", first["id"]), [("x", "late")], "task")
        assert rows(database_url, "t", "checkpoint_writes") == 1
        for early in (third, fourth):
            await saver.aput_writes(config("t", early["id"]), [("x", "early")], "task")
        for checkpoint, parent, left in ((third, second, 2), (fourth, third, 1)):
            await put(saver, checkpoint, parent)
            found = await saver.aget_tuple(config("t"))
            assert found and found.pending_writes == [("task", "x", "early")]
            assert rows(database_url, "t", "checkpoint_writes") == left


async def test_c054_a_checkpoint_whose_clock_is_behind_is_still_the_newest(database_url: str) -> None:
    """A checkpoint whose clock is behind is still the newest: no older one is kept beside it.

    LangGraph takes the greatest id for the newest, and ids are times: with the parent kept, a slow clock would hide the child.
    """
    earlier, later = new_checkpoint(), new_checkpoint()
    async with driven(database_url, "t") as saver:
        await put(saver, later)
        await put(saver, earlier, later)
        found = await saver.aget_tuple(config("t"))
        assert found and found.checkpoint["id"] == earlier["id"]


async def test_a_checkpoint_of_the_old_form_keeps_the_parent_that_holds_its_sends(database_url: str) -> None:
    chain: list[Any] = [None, *({**new_checkpoint(), "v": 3} for _ in range(4))]
    async with driven(database_url, "t") as saver:
        for parent, checkpoint in pairwise(chain):
            await put(saver, checkpoint, parent)
            await saver.aput_writes(config("t", checkpoint["id"]), [("__pregel_tasks", Send("work", 1))], "task")
        assert rows(database_url, "t") == 2
        found = await saver.aget_tuple(config("t"))
        assert found and found.checkpoint["channel_values"]["__pregel_tasks"] == [Send("work", 1)]


async def test_calls_of_subgraphs_go_with_the_checkpoint_they_began_at(database_url: str) -> None:
    class Outer(TypedDict):
        messages: Annotated[list[AnyMessage], add_messages]
        rounds: Annotated[int, add]

    inner = StateGraph(State)
    inner.add_node("first", speak)
    inner.add_node("second", ask)
    inner.add_edge(START, "first")
    inner.add_edge("first", "second")
    outer = StateGraph(Outer)
    outer.add_node("call", inner.compile())
    outer.add_node("count", lambda state: {"rounds": 1})
    outer.add_edge(START, "call")
    outer.add_edge("call", "count")
    outer.add_conditional_edges("count", lambda state: "call" if state["rounds"] < 4 else END, ["call", END])
    value: Any = {"messages": [], "rounds": 0}
    seen = []
    for number in range(5):
        async with driven(database_url, "t") as saver:
            graph = outer.compile(checkpointer=saver)
            state = await graph.ainvoke(value, config("t"), durability="sync")
            interrupts = (await graph.aget_state(config("t"))).interrupts
        seen.append(rows(database_url, "t"))
        value = Command(resume={interrupts[0].id: f"answer {number}"}) if interrupts else None
    assert value is None and [one.content for one in state["messages"]][1::2] == [f"answer {n}" for n in range(4)]
    assert len(set(seen[:4])) == 1 and seen[4] == 1, "of the calls only the open one is there"
    assert rows(database_url, "t", "checkpoint_blobs") == 1


async def test_a_channel_of_deltas_keeps_what_it_is_put_together_from(database_url: str) -> None:
    def joined(state: list[str], writes: list[list[str]]) -> list[str]:
        return state + [text for write in writes for text in write]

    class Deltas(TypedDict):
        log: Annotated[list[str], DeltaChannel(joined, list, snapshot_frequency=4)]

    graph = StateGraph(Deltas)
    graph.add_node("work", lambda state: {"log": [str(len(state["log"]))]})
    graph.add_edge(START, "work")
    graph.add_conditional_edges("work", lambda state: "work" if len(state["log"]) < 10 else END, ["work", END])
    for stop in range(12):
        async with driven(database_url, "t") as saver:
            compiled = graph.compile(checkpointer=saver, interrupt_after=["work"])
            await compiled.ainvoke(None if stop else {"log": []}, config("t"), durability="sync")
        async with driven(database_url, "t") as saver:
            state = await graph.compile(checkpointer=saver).aget_state(config("t"))
        assert state.values["log"] == [str(number) for number in range(min(stop + 1, 10))]
        assert rows(database_url, "t") <= 5
        if not state.next:
            break
    else:
        pytest.fail("the graph did not end")
