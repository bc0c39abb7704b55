"""Port episodes: one suite for every store. A server of your own is taken in by INTERLOCK_TEST_QDRANT_URL."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from bench.openai_server import embed
from bench.qdrant_server import QdrantServer

from memory.episodes import MemoryRecord, VectorStoreClient, record_id
from memory.errors import RefusedError
from memory.inmemory import InMemoryEpisodes
from memory.qdrant.store import QdrantEpisodes

FRUITS = ["fruit apple", "fruit banana", "fruit cherry", "fruit date", "fruit elderberry"]
NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
Make = Callable[..., VectorStoreClient]


class Words:
    """Texts that share words are near each other. Another `name` has another size, or the same one with `size`."""

    def __init__(self, name: str = "words:one", size: int = 32) -> None:
        self.name, self.size = name, size
        self.embedded: list[str] = []

    def load(self) -> None:
        pass

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.embedded += texts
        return [[*embed(text)[: self.size], *[0.0] * (self.size - 32)] for text in texts]


@pytest.fixture(params=["in memory", "qdrant, local", "qdrant, server"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    """Makes stores that look at one memory. One at a time is open in local mode, as processes have it."""
    made: list[QdrantEpisodes] = []
    shared: dict[str, dict[str, MemoryRecord]] = {}
    server = QdrantServer() if request.param == "qdrant, server" else None

    def store(embedder: Words | None = None) -> VectorStoreClient:
        if request.param == "in memory":
            return InMemoryEpisodes(embedder or Words(), shared)
        for earlier in made:
            earlier.close()
        place: dict[str, Any] = {"url": server.url} if server else {"folder": tmp_path / "memory"}
        made.append(QdrantEpisodes(embedder or Words(), **place))
        return made[-1]

    yield store
    for one in made:
        one.close()
    if server:
        server.close()


def record(text: str, tenant: str = "a", *, at: int = 0, **metadata: Any) -> MemoryRecord:
    return MemoryRecord(record_id(tenant, text), text, NOON + timedelta(minutes=at), {"tenant": tenant, **metadata})


def texts(found: Any) -> list[str]:
    return [one.record.content for one in found]


def test_the_nearest_comes_first_and_comes_back_whole(make: Make) -> None:
    first = record("deploy shop rejected on friday", source="thread t1", nested={"n": [1]})
    make().add([first, record("count the users"), record("x y z")])
    found = make().search("deploy the shop", 2, "a")
    assert len(found) == 2 and found[0].score >= found[1].score
    assert (found[0].record.content, found[0].record.timestamp) == ("deploy shop rejected on friday", NOON)
    assert dict(found[0].record.metadata) == {"tenant": "a", "source": "thread t1", "nested": {"n": [1]}}
    assert found[0].record.id == first.id


def test_nothing_stored_is_nothing_found_and_makes_nothing(make: Make, tmp_path: Path) -> None:
    store = make()
    assert (list(store.search("anything", 5, "a")), list(store.newest("a", 5)), store.count("a")) == ([], [], 0)
    assert not list(tmp_path.rglob("meta.json"))


def test_tenants_never_see_each_other(make: Make) -> None:
    store = make()
    store.add([record("the same text", "a"), record("the same text", "b"), record("only of b", "b")])
    assert texts(store.search("the same text", 9, "a")) == ["the same text"]
    assert [one.metadata["tenant"] for one in store.newest("b", 9)] == ["b", "b"]
    assert (store.count("a"), store.count("b"), store.count("c")) == (1, 2, 0)
    assert list(store.get([record("only of b", "b").id], "a")) == []
    store.forget([record("only of b", "b").id, record("the same text", "b").id], "a")
    assert store.count("b") == 2


def test_c067_a_repeated_write_is_one_record(make: Make) -> None:
    """The same record again is no second one; its id follows from tenant, thread and kind."""
    make().add([record("once")])
    make().add([record("once")])
    assert make().count("a") == 1


def test_a_record_of_nobody_is_refused(make: Make) -> None:
    with pytest.raises(ValueError, match="names no tenant"):
        make().add([MemoryRecord(record_id("a", "x"), "x", NOON, {})])


def test_the_newest_come_first_and_what_is_forgotten_is_gone(make: Make) -> None:
    store = make()
    store.add([record("old", at=0), record("new", at=2), record("middle", at=1)])
    assert [one.content for one in store.newest("a", 2)] == ["new", "middle"]
    store.forget([record("new").id], "a")
    assert [one.content for one in make().newest("a", 9)] == ["middle", "old"]


@pytest.mark.parametrize("other", [Words("words:other"), Words("words:other", 48)], ids=["same size", "another size"])
def test_c057_another_embedder_is_refused_until_it_has_embedded_everything(make: Make, other: Words) -> None:
    """Another embedder, of another size or of the same, is refused until it has embedded everything anew."""
    make().add([record(text, tenant) for text in FRUITS[:3] for tenant in ("a", "b")])
    for call in (lambda: make(other).search("fruit", 1, "a"), lambda: make(other).add([record("more")])):
        with pytest.raises(RefusedError, match=r"'words:one'.*'words:other'") as refused:
            call()
        assert refused.value.code == "embedder_changed" and "memory reembed" in refused.value.remedy
    assert make().count("a") == 3

    told: list[tuple[int, int]] = []
    assert make(other).reembed(lambda done, of: told.append((done, of))) == 6
    assert told and told[-1][0] == told[-1][1]
    assert texts(make(other).search("fruit banana", 1, "a")) == ["fruit banana"]
    assert (make(other).count("a"), make(other).count("b")) == (3, 3)
    with pytest.raises(RefusedError):
        make().search("fruit", 1, "a")


def test_embedding_anew_goes_on_where_it_was_ended(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memory.qdrant.store.PAGE", 2)
    make().add([record(text) for text in FRUITS])
    other = Words("words:other")

    def dies(done: int, of: int) -> None:
        if done >= 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make(other).reembed(dies)
    assert make().count("a") == 5
    other.embedded.clear()
    assert make(other).reembed(lambda done, of: None) == 5
    assert texts(make(other).search("fruit cherry", 1, "a")) == ["fruit cherry"]
    if not isinstance(make(other), InMemoryEpisodes):
        anew = [text for text in other.embedded if text.startswith("fruit ")]
        assert 0 < len(anew) < len(FRUITS), "what was embedded is not embedded again"
