"""What memory costs: a search among many records through our store against the bare client, and what a run pays for it.

    python benchmarks/recall.py [--records 50000] [--queries 40] [--json]

Both searches take turns on one collection in local mode, with the same vectors, so that a slow moment of the machine meets both. The
records are laid down by the client in bulk; opening them is measured once. Times are milliseconds.
"""

import argparse
import asyncio
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from memory.careful import Memory
from memory.episodes import MemoryRecord, record_id
from memory.qdrant.store import ALIAS, QdrantEpisodes

SIZE, TENANT, TOP = 384, "bench", 5


class Vectors:
    """Random directions, the same for the same text."""

    name = "bench:random"

    def load(self) -> None:
        pass

    def embed_query(self, text: str) -> list[float]:
        chance = random.Random(text)
        return [chance.gauss(0, 1) for _ in range(SIZE)]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]


def record(number: int) -> MemoryRecord:
    return MemoryRecord(record_id(TENANT, str(number)), f"record {number}", datetime.now(UTC), {"tenant": TENANT, "source": "bench"})


def timed(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def fill(store: QdrantEpisodes, records: int) -> Any:
    """The bare client of the collection, which the store made and opened."""
    import numpy
    from qdrant_client import models

    store.add([record(0)])
    [opened] = store._opened.values()
    chance = numpy.random.default_rng(1)
    for start in range(1, records, 1000):
        ids = range(start, min(start + 1000, records))
        made = [record(number) for number in ids]
        payloads = [{"page_content": one.content, "metadata": {**one.metadata, "at": 0.0}} for one in made]
        vectors = chance.standard_normal((len(ids), SIZE)).astype("float32").tolist()
        points = [
            models.PointStruct(id=one.id, vector=vector, payload=payload)
            for one, vector, payload in zip(made, vectors, payloads, strict=True)
        ]
        opened.client.upsert(ALIAS, points)
    return opened.client


def search(folder: Path, records: int, queries: int) -> dict[str, Any]:
    embedder = Vectors()
    store = QdrantEpisodes(embedder, folder=folder)
    client = fill(store, records)
    figures: dict[str, list[float]] = {"bare client": [], "our store": []}
    for number in range(queries):
        query = f"query {number}"
        figures["bare client"].append(timed(lambda query=query: client.query_points(ALIAS, embedder.embed_query(query), limit=TOP)))
        figures["our store"].append(timed(lambda query=query: store.search(query, TOP, TENANT)))
    store.rest()
    opening = timed(lambda: store.search("after opening", TOP, TENANT))
    store.rest()
    middle = {name: statistics.median(values) for name, values in figures.items()}
    pairs = zip(figures["our store"], figures["bare client"], strict=True)
    ratio = statistics.median(ours / bare for ours, bare in pairs)
    return {"records": records, "ms": middle, "ours / bare": ratio, "opening ms": opening}


async def run(folder: Path) -> dict[str, float]:
    """What retrieve_episodes and remember_episode wait for in a small memory; the first time with the imports."""
    memory = Memory(QdrantEpisodes(Vectors(), folder=folder), folder / "pauses.json", seconds=60)

    async def took(work: Any) -> float:
        began = time.perf_counter()
        assert (await work).status in {"ok", "empty"}
        return (time.perf_counter() - began) * 1000

    figures = {"recall, nothing there": await took(memory.recall("task", TENANT))}
    figures["keep, the first (imports)"] = await took(memory.keep([record(1)]))
    figures["keep"] = statistics.median([await took(memory.keep([record(number)])) for number in range(2, 12)])
    figures["recall"] = statistics.median([await took(memory.recall(f"task {number}", TENANT)) for number in range(10)])
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=50_000)
    parser.add_argument("--queries", type=int, default=40)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        in_a_run = asyncio.run(run(Path(folder) / "run"))
        found = search(Path(folder) / "search", options.records, options.queries)
    result = {**found, "in a run": in_a_run}
    if options.json:
        print(json.dumps(result))
        return
    for name, value in found["ms"].items():
        print(f"{name:<28} {value:8.2f} ms a search among {found['records']} records")
    print(f"{'ours / bare':<28} {found['ours / bare']:8.2f}")
    print(f"{'opening them':<28} {found['opening ms']:8.0f} ms, with one search")
    for name, value in in_a_run.items():
        print(f"{name:<28} {value:8.1f} ms")


if __name__ == "__main__":
    main()
