"""What the guard costs: a step of a graph with our saver against the bare official one, in one run, beside the commit floor.

    python benchmarks/transition.py [--steps 60] [--rounds 5] [--json]

The two take turns on one PostgreSQL of its own, so that a slow moment of the machine meets both. Times are milliseconds a step, commits are
counted by the ids that the server gives to transactions that write.
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, TypedDict

sys.path.insert(0, str(Path(__file__).parents[1]))

from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import END, START, StateGraph

from memory.leases import held
from memory.people import NOBODY
from memory.postgres.database import Database
from memory.postgres.embedded import EmbeddedServer
from memory.postgres.migrate import migrate
from memory.postgres.runs import PostgresRuns
from memory.postgres.saver import GuardedSaver
from memory.runs import NewRun


class Count(TypedDict):
    n: int


def counting(steps: int) -> StateGraph[Any, Any, Any, Any]:
    graph = StateGraph(Count)
    graph.add_node("step", lambda state: {"n": state["n"] + 1})
    graph.add_edge(START, "step")
    graph.add_conditional_edges("step", lambda state: "step" if state["n"] < steps else END, ["step", END])
    return graph


async def timed(graph: Any, thread: str, steps: int) -> float:
    config = {"configurable": {"thread_id": thread}, "recursion_limit": steps + 10}
    began = time.perf_counter()
    await graph.ainvoke({"n": 0}, config, durability="sync")
    return (time.perf_counter() - began) * 1000 / steps


async def floor(database: Database, commits: int = 50) -> float:
    async with database.connection() as db:
        await db.execute("CREATE TABLE IF NOT EXISTS public.commit_floor (n int)")
        began = time.perf_counter()
        for number in range(commits):
            await db.execute("INSERT INTO public.commit_floor VALUES (%s)", (number,))
    return (time.perf_counter() - began) * 1000 / commits


async def written(database: Database) -> int:
    """How many transactions have written so far, on this server that nobody else uses."""
    async with database.connection() as db:
        row = await (await db.execute("SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS count")).fetchone()
    assert row is not None
    return int(row["count"])


async def measure(dsn: str, steps: int, rounds: int) -> dict[str, Any]:
    figures: dict[str, list[float]] = {"commit floor": [], "bare saver": [], "guarded saver": []}
    commits: dict[str, float] = {}
    async with Database(dsn) as database:
        runs, graph = PostgresRuns(database), counting(steps)
        ours = GuardedSaver(database.pool)
        ours.plain = frozenset(Count.__annotations__)
        bare, guarded = (graph.compile(checkpointer=saver) for saver in (AsyncPostgresSaver(database.pool), ours))
        for number in range(rounds):
            thread = f"guarded-{number}"
            await runs.create(NewRun(thread, "", NOBODY, NOBODY, "default", "1", "1"))
            held[thread] = await runs.acquire(thread, "benchmark", 600)
            figures["commit floor"].append(await floor(database))
            for name, which, of in (("bare saver", bare, f"bare-{number}"), ("guarded saver", guarded, thread)):
                before = await written(database)
                figures[name].append(await timed(which, of, steps))
                commits[name] = (await written(database) - before) / steps
    middle = {name: statistics.median(values) for name, values in figures.items()}
    ratio = statistics.median(g / b for g, b in zip(figures["guarded saver"], figures["bare saver"], strict=True))
    fewer = commits["guarded saver"] / commits["bare saver"]
    return {
        "ms": middle, "commits": commits, "guarded / bare": ratio, "commits, guarded / bare": fewer, "steps": steps, "rounds": rounds,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        Path(folder).chmod(0o711)
        server = EmbeddedServer(Path(folder), settings={"autovacuum": "off"})
        try:
            dsn = server.up()
            asyncio.run(migrate(dsn))
            result = asyncio.run(measure(dsn, options.steps, options.rounds))
        finally:
            server.down()
    if options.json:
        print(json.dumps(result))
        return
    for name, value in result["ms"].items():
        print(f"{name:<14} {value:7.2f} ms a step" if "saver" in name else f"{name:<14} {value:7.2f} ms a commit")
    for name, value in result["commits"].items():
        print(f"{name:<14} {value:7.2f} commits a step")
    print(f"guarded / bare {result['guarded / bare']:7.2f} in time, {result['commits, guarded / bare']:.2f} in commits")


if __name__ == "__main__":
    main()
