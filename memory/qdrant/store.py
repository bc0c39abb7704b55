"""Episodic memory in Qdrant, through langchain-qdrant. Importing this module loads neither; the first call that needs them does.

A server holds one collection with the tenant as an indexed key. In local mode each tenant has a folder of its own: a filter there
costs many times the search, opening takes longer the more there is, and two tenants need not keep each other out.
The collection is reached by an alias. What is behind it keeps its embedder's name and size, and changes only when `reembed` is through.
"""

import hashlib
import importlib
import importlib.metadata
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memory.episodes import MOST_ASKED, Embedder, Match, MemoryRecord, embedder_changed
from memory.errors import InterlockError, RefusedError, UnavailableError
from memory.qdrant.errors import translated

if TYPE_CHECKING:
    from langchain_qdrant import QdrantVectorStore
    from qdrant_client import QdrantClient

ALIAS = "interlock_memory"
TENANT, AT = "metadata.tenant", "metadata.at"
PAGE = 128
CALL_SECONDS = 3  # of a server: whoever waits for memory waits for nothing else
LOCK_SECONDS = 2.0  # for another process that looks something up in the same folder


class QdrantEpisodes:
    """`folder` for local mode, or `url` for a server; `key` is its API key. Safe to share between threads; calls wait for each other."""

    def __init__(
        self, embedder: Embedder, *, folder: Path | None = None, url: str = "", key: str | None = None, seconds: int = CALL_SECONDS
    ) -> None:
        self._embedder, self._folder, self._url, self._key, self._seconds = embedder, folder, url, key, seconds
        self.where = f"at {shown_url(url)}" if folder is None else f"in {folder}"
        self._opened: dict[str, _Opened] = {}
        self._using = threading.Lock()

    def load(self, tenant: str | None = None) -> None:
        if tenant is None or self._is_there(tenant):
            importlib.import_module("langchain_qdrant")
            self._embedder.load()

    def add(self, records: Sequence[MemoryRecord]) -> None:
        for tenant in sorted({record.tenant for record in records}):
            chosen = [record for record in records if record.tenant == tenant]
            with self._collection(tenant, make=True) as collection:
                if collection:
                    collection.add(chosen)

    def search(self, query: str, top_k: int, tenant: str) -> Sequence[Match]:
        with self._collection(tenant) as collection:
            return collection.search(query[:MOST_ASKED], top_k, tenant) if collection else []

    def newest(self, tenant: str, limit: int) -> Sequence[MemoryRecord]:
        with self._collection(tenant, fits=False) as collection:
            return collection.newest(tenant, limit) if collection else []

    def get(self, ids: Sequence[str], tenant: str) -> Sequence[MemoryRecord]:
        with self._collection(tenant, fits=False) as collection:
            return collection.get(ids, tenant) if collection else []

    def forget(self, ids: Sequence[str], tenant: str) -> None:
        with self._collection(tenant, fits=False) as collection:
            if collection:
                collection.forget([record.id for record in collection.get(ids, tenant)])

    def count(self, tenant: str) -> int:
        with self._collection(tenant, fits=False) as collection:
            return collection.count(tenant) if collection else 0

    def reembed(self, told: Callable[[int, int], None], tenant: str | None = None) -> int:
        if self._folder is None:
            return self._reembed("", told)
        folders = [_name(tenant)] if tenant else sorted(path.name for path in self._folder.glob("*") if path.is_dir())
        return sum(self._reembed(name, told) for name in folders)

    def rest(self) -> None:
        with self._using:
            if self._folder is not None:
                self._close()

    def close(self) -> None:
        with self._using:
            self._close()

    def facts(self) -> Mapping[str, Any]:
        with translated(self.where):
            size = len(self._embedder.embed_query("How long is a vector?"))
        facts = {"embedder": f"{self._embedder.name} ({size} numbers)", "qdrant-client": importlib.metadata.version("qdrant-client")}
        if self._folder is not None:
            return {"memory": self.where, **facts}
        with self._collection(""):
            return {"memory": self.where, **facts, "server": self._opened[""].client.info().version}

    @contextmanager
    def _collection(self, tenant: str, *, make: bool = False, fits: bool = True) -> Iterator["_Collection | None"]:
        """None where nothing was stored yet. With `fits`, refuses one that another embedder made."""
        if not make and not self._is_there(tenant):
            yield None
            return
        name = "" if self._folder is None else _name(tenant)
        with self._alone(), translated(self.where):
            opened = self._open(name)
            collection = opened.collection or self._find(opened)
            if collection is None and make:
                collection = self._make(opened)
            if collection and fits:
                collection.check(self._embedder.name)
            opened.collection = collection
            yield collection

    def _is_there(self, tenant: str) -> bool:
        """Whether something may have been stored for this tenant; in local mode that is seen without opening anything."""
        return self._folder is None or (self._folder / _name(tenant) / "meta.json").exists()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """A call that hangs keeps others out; they do not hang with it."""
        if not self._using.acquire(timeout=self._seconds + LOCK_SECONDS):
            raise UnavailableError(f"The memory {self.where} is still busy with an earlier call.", code="memory_busy")
        try:
            yield
        finally:
            self._using.release()

    def _open(self, name: str) -> "_Opened":
        if name not in self._opened:
            self._opened[name] = _Opened(self._client(name))
        return self._opened[name]

    def _client(self, name: str) -> "QdrantClient":
        from qdrant_client import QdrantClient

        if self._folder is None:
            refuse_open_key(self._url, self._key)
            return QdrantClient(url=self._url, api_key=self._key, timeout=self._seconds, check_compatibility=False)
        folder, end = self._folder / name, time.monotonic() + LOCK_SECONDS
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        while True:
            try:
                return QdrantClient(path=str(folder), force_disable_check_same_thread=True)
            except RuntimeError as error:
                if "already accessed" not in str(error):
                    raise
                if time.monotonic() > end:
                    raise locked(folder) from error
            time.sleep(0.05)

    def _find(self, opened: "_Opened", name: str = ALIAS) -> "_Collection | None":
        if not opened.client.collection_exists(name):
            return None
        config = opened.client.get_collection(name).config
        vectors = config.params.vectors
        kept = config.metadata or {}
        made_by, size = str(kept.get("embedder", "")), int(getattr(vectors, "size", 0))
        return _Collection(opened.client, name, self._embedder, made_by, size, is_local=self._folder is not None)

    def _make(self, opened: "_Opened") -> "_Collection":
        name = self._make_for_this_embedder(opened)
        opened.client.update_collection_aliases([_alias(name)])
        found = self._find(opened)
        if found is None:
            raise UnavailableError(f"The memory {self.where} was made and is not there.", code="memory_unavailable")
        return found

    def _make_for_this_embedder(self, opened: "_Opened") -> str:
        """The name of a collection for it, which is made where it is missing."""
        from qdrant_client import models
        from qdrant_client.http.exceptions import UnexpectedResponse

        size = len(self._embedder.embed_query("How long is a vector?"))
        name = f"{ALIAS}_{hashlib.sha256(f'{self._embedder.name} {size}'.encode()).hexdigest()[:12]}"
        if not opened.client.collection_exists(name):
            vectors = models.VectorParams(size=size, distance=models.Distance.COSINE)
            with suppress(UnexpectedResponse):  # another process was quicker; if it was not, the next call says what is wrong
                opened.client.create_collection(name, vectors_config=vectors, metadata={"embedder": self._embedder.name, "size": size})
        if self._folder is None:
            keyword = models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True)
            opened.client.create_payload_index(name, TENANT, keyword)
            opened.client.create_payload_index(name, AT, models.PayloadSchemaType.FLOAT)
        return name

    def _reembed(self, name: str, told: Callable[[int, int], None]) -> int:
        if self._folder is not None and not (self._folder / name / "meta.json").exists():
            return 0
        with self._alone(), translated(self.where):
            opened = self._open(name)
            old = self._find(opened)
            if old is None:
                return 0
            target = self._make_for_this_embedder(opened)
            behind = next(one.collection_name for one in opened.client.get_aliases().aliases if one.alias_name == ALIAS)
            if behind == target:
                return old.count(None)
            new = _Collection(opened.client, target, self._embedder, self._embedder.name, 0, is_local=self._folder is not None)
            total, done = old.count(None), 0
            for page in old.pages():
                there = new.ids([record.id for record in page])
                new.add([record for record in page if record.id not in there])
                done += len(page)
                told(done, total)
            opened.client.update_collection_aliases([_no_alias(), _alias(target)])
            opened.client.delete_collection(behind)
            opened.collection = None
            return new.count(None)

    def _close(self) -> None:
        for opened in self._opened.values():
            opened.client.close()
        self._opened.clear()


class _Opened:
    def __init__(self, client: "QdrantClient") -> None:
        self.client = client
        self.collection: _Collection | None = None


class _OfOneSize:
    """An embedder can be another one under the same name."""

    def __init__(self, embedder: Embedder, refuse: Callable[[int], None]) -> None:
        self._embedder, self._refuse = embedder, refuse

    def embed_query(self, text: str) -> list[float]:
        return self._checked([self._embedder.embed_query(text)])[0]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self._checked(self._embedder.embed_documents(texts))

    def _checked(self, vectors: list[list[float]]) -> list[list[float]]:
        for vector in vectors:
            self._refuse(len(vector))
        return vectors


class _Collection:
    """One collection under one embedder. The filter is on where a server holds all tenants together; it costs nothing there."""

    def __init__(self, client: "QdrantClient", name: str, embedder: Embedder, made_by: str, size: int, *, is_local: bool) -> None:
        self._client, self._name, self._embedder, self._made_by, self._size = client, name, embedder, made_by, size
        self._is_local = is_local
        self._store = self._langchain()

    def check(self, name: str) -> None:
        if self._made_by and self._made_by != name:
            raise embedder_changed(f"collection {self._name!r}", self._made_by, self._size, name, None)

    def add(self, records: Sequence[MemoryRecord]) -> None:
        if records:
            metadatas = [{**one.metadata, "at": one.timestamp.timestamp()} for one in records]
            self._store.add_texts([one.content for one in records], metadatas, [one.id for one in records], batch_size=PAGE, wait=True)

    def search(self, query: str, top_k: int, tenant: str) -> list[Match]:
        found = self._store.similarity_search_with_score(query, top_k, filter=None if self._is_local else _of(tenant))
        return [Match(_record(str(one.metadata["_id"]), one.page_content, one.metadata), score) for one, score in found]

    def newest(self, tenant: str, limit: int) -> list[MemoryRecord]:
        from qdrant_client import models

        order = models.OrderBy(key=AT, direction=models.Direction.DESC)
        points, _ = self._client.scroll(self._name, self._filter(tenant), limit=limit, order_by=order)
        return [_of_point(point) for point in points]

    def get(self, ids: Sequence[str], tenant: str) -> list[MemoryRecord]:
        records = [_of_point(point) for point in self._client.retrieve(self._name, list(ids))] if ids else []
        return [record for record in records if record.metadata.get("tenant") == tenant]

    def ids(self, ids: Sequence[str]) -> set[str]:
        return {str(point.id) for point in self._client.retrieve(self._name, list(ids), with_payload=False)} if ids else set()

    def forget(self, ids: Sequence[str]) -> None:
        from qdrant_client import models

        if ids:
            self._client.delete(self._name, models.PointIdsList(points=list(ids)), wait=True)

    def count(self, tenant: str | None) -> int:
        return self._client.count(self._name, count_filter=self._filter(tenant) if tenant else None).count

    def pages(self) -> Iterator[list[MemoryRecord]]:
        after: Any = None
        while True:
            points, after = self._client.scroll(self._name, limit=PAGE, offset=after)
            if points:
                yield [_of_point(point) for point in points]
            if after is None:
                return

    def _langchain(self) -> "QdrantVectorStore":
        from langchain_qdrant import QdrantVectorStore

        embedder: Any = _OfOneSize(self._embedder, self._unlike)  # LangChain asks for its own class, and needs its two methods
        return QdrantVectorStore(
            self._client, self._name, embedder, vector_name="", validate_embeddings=False, validate_collection_config=False
        )

    def _unlike(self, size: int) -> None:
        if self._size and size != self._size:
            raise embedder_changed(f"collection {self._name!r}", self._made_by, self._size, self._embedder.name, size)

    def _filter(self, tenant: str | None) -> Any:
        return None if self._is_local or tenant is None else _of(tenant)


def _of(tenant: str) -> Any:
    from qdrant_client import models

    return models.Filter(must=[models.FieldCondition(key=TENANT, match=models.MatchValue(value=tenant))])


def _alias(name: str) -> Any:
    from qdrant_client import models

    return models.CreateAliasOperation(create_alias=models.CreateAlias(alias_name=ALIAS, collection_name=name))


def _no_alias() -> Any:
    from qdrant_client import models

    return models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=ALIAS))


def _of_point(point: Any) -> MemoryRecord:
    payload = point.payload or {}
    return _record(str(point.id), payload.get("page_content", ""), payload.get("metadata") or {})


def _record(name: str, content: str, metadata: Mapping[str, Any]) -> MemoryRecord:
    plain = {key: value for key, value in metadata.items() if key != "at" and not key.startswith("_")}
    return MemoryRecord(name, content, datetime.fromtimestamp(float(metadata.get("at", 0)), UTC), plain)


def _name(tenant: str) -> str:
    """Of a tenant's folder: one that people recognise, and that no two tenants share, on any file system."""
    plain = re.sub(r"[^a-z0-9]+", "-", tenant.lower()).strip("-")[:40]
    return f"{plain}-{hashlib.sha256(tenant.encode()).hexdigest()[:12]}"


def locked(folder: Path) -> InterlockError:
    return UnavailableError(
        f"The memory in {folder} is in use by another process.",
        remedy="Try again when it has ended; a Qdrant server (INTERLOCK_QDRANT_URL) serves many at once.",
        code="memory_locked",
    )


def shown_url(url: str) -> str:
    """Without user, password and query."""
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


def refuse_open_key(url: str, key: str | None) -> None:
    """A key that goes through a network in the clear is nobody's secret any more."""
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    if key and parts.scheme == "http" and parts.hostname not in {"localhost", "127.0.0.1", "::1"}:
        message = f"INTERLOCK_QDRANT_API_KEY would go to {shown_url(url)} without encryption."
        raise RefusedError(message, remedy="Use https.", code="open_key")
