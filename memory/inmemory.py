"""Episodic memory in this process: exact, forgotten with it. For tests and for trying things out."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from memory.episodes import MOST_ASKED, Embedder, Match, MemoryRecord, embedder_changed


class InMemoryEpisodes:
    """Records of one tenant are never looked through for another. Two of these share `tenants` to be one memory, seen twice."""

    def __init__(self, embedder: Embedder, tenants: dict[str, dict[str, MemoryRecord]] | None = None) -> None:
        self.where, self._embedder = "in this process", embedder
        self._tenants: dict[str, dict[str, MemoryRecord]] = {} if tenants is None else tenants

    def load(self, tenant: str | None = None) -> None:
        """All is here."""

    def add(self, records: Sequence[MemoryRecord]) -> None:
        self._check()
        tenants = [record.tenant for record in records]
        vectors = self._embedder.embed_documents([record.content for record in records]) if records else []
        for tenant, record, vector in zip(tenants, records, vectors, strict=True):
            kept = {**record.metadata, MADE_BY: self._embedder.name}
            self._tenants.setdefault(tenant, {})[record.id] = replace(record, embedding=tuple(vector), metadata=kept)

    def search(self, query: str, top_k: int, tenant: str) -> Sequence[Match]:
        self._check()
        asked = self._embedder.embed_query(query[:MOST_ASKED])
        matches = [Match(_shown(record), _cosine(asked, record.embedding or ())) for record in self._of(tenant)]
        return sorted(matches, key=lambda match: match.score, reverse=True)[:top_k]

    def newest(self, tenant: str, limit: int) -> Sequence[MemoryRecord]:
        return [_shown(one) for one in sorted(self._of(tenant), key=lambda one: one.timestamp, reverse=True)[:limit]]

    def get(self, ids: Sequence[str], tenant: str) -> Sequence[MemoryRecord]:
        return [_shown(one) for one in self._of(tenant) if one.id in ids]

    def forget(self, ids: Sequence[str], tenant: str) -> None:
        for name in ids:
            self._tenants.get(tenant, {}).pop(name, None)

    def count(self, tenant: str) -> int:
        return len(self._of(tenant))

    def reembed(self, told: Callable[[int, int], None], tenant: str | None = None) -> int:
        chosen = [one for name in self._tenants if tenant in {None, name} for one in self._of(name)]
        for number, record in enumerate(chosen):
            vector = tuple(self._embedder.embed_documents([record.content])[0])
            kept = {**record.metadata, MADE_BY: self._embedder.name}
            self._tenants[record.tenant][record.id] = replace(record, embedding=vector, metadata=kept)
            told(number + 1, len(chosen))
        return len(chosen)

    def rest(self) -> None:
        """Nobody is kept out."""

    def facts(self) -> Mapping[str, Any]:
        return {"where": self.where, "embedder": self._embedder.name}

    def _of(self, tenant: str) -> list[MemoryRecord]:
        return list(self._tenants.get(tenant, {}).values())

    def _check(self) -> None:
        for record in (one for tenant in self._tenants for one in self._of(tenant)):
            if record.metadata[MADE_BY] != self._embedder.name:
                raise embedder_changed(self.where, record.metadata[MADE_BY], len(record.embedding or ()), self._embedder.name, None)


MADE_BY = "embedder"


def _shown(record: MemoryRecord) -> MemoryRecord:
    return replace(record, metadata={name: value for name, value in record.metadata.items() if name != MADE_BY})


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    lengths = math.hypot(*one) * math.hypot(*other)
    return sum(a * b for a, b in zip(one, other, strict=True)) / lengths if lengths else 0.0
