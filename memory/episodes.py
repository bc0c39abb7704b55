"""Port: what was learned in earlier threads. These are the only words that the agent knows about memory.

Calls block: `memory.careful` runs them aside, with a deadline. What goes wrong outside is an UnavailableError in one line; a store that
was filled by another embedder is a RefusedError `embedder_changed`, and nothing in it is touched.
"""

import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from memory.errors import RefusedError

IDS = uuid.UUID("6f1f3c53-6b0c-5d1d-9a53-8e1b6a0f6a1e")
MOST_CHARACTERS = 4000  # of a record; embedders read less than that
MOST_ASKED = 2000  # characters of a query


@dataclass(frozen=True, slots=True)
class MemoryRecord:
    """`id` is a UUID, best made by `record_id`. `timestamp` is aware. `metadata` are plain JSON values; its `tenant` must be there.

    `embedding` is there where a store was given one, or gives it back; none has to.
    """

    id: str
    content: str
    timestamp: datetime
    metadata: Mapping[str, Any] = field(default_factory=dict)
    embedding: Sequence[float] | None = None

    @property
    def tenant(self) -> str:
        """Raises ValueError where there is none: a record that belongs to nobody must not be stored."""
        tenant = self.metadata.get("tenant")
        if not isinstance(tenant, str) or not tenant:
            raise ValueError(f"record {self.id} names no tenant")
        return tenant


@dataclass(frozen=True, slots=True)
class Match:
    """`score` is the cosine of the angle between query and record."""

    record: MemoryRecord
    score: float


class Embedder(Protocol):
    """LangChain's `Embeddings`, with a name. `name` is `provider:model`; it is kept with what it embedded."""

    name: str

    def load(self) -> None:
        """Brings in what it needs to work: code and a model of this machine. It asks nobody."""

    def embed_query(self, text: str) -> list[float]: ...

    def embed_documents(self, texts: list[str]) -> list[list[float]]: ...


class VectorStoreClient(Protocol):
    """`where` names the place for people, without secrets."""

    where: str

    def load(self, tenant: str | None = None) -> None:
        """Brings in the code that it needs, to look something up for this tenant, or to write. It asks nobody; it may take seconds."""

    def add(self, records: Sequence[MemoryRecord]) -> None:
        """A record whose id is there already takes its place."""

    def search(self, query: str, top_k: int, tenant: str) -> Sequence[Match]:
        """The nearest of this tenant, nearest first."""

    def newest(self, tenant: str, limit: int) -> Sequence[MemoryRecord]: ...

    def get(self, ids: Sequence[str], tenant: str) -> Sequence[MemoryRecord]:
        """Those of this tenant that are there."""

    def forget(self, ids: Sequence[str], tenant: str) -> None:
        """Records of other tenants stay, whatever their ids."""

    def count(self, tenant: str) -> int: ...

    def reembed(self, told: Callable[[int, int], None], tenant: str | None = None) -> int:
        """Embeds everything with the embedder of now, and says how far it is (done, of). May be ended and begun again.

        How many records there are afterwards. The old vectors go when the new ones are complete. A store for all tenants takes all.
        """

    def rest(self) -> None:
        """Lets go of what keeps other processes out; the next call takes it again."""

    def facts(self) -> Mapping[str, Any]:
        """For `doctor`: what there is, in words; raises as every call."""


def record_id(tenant: str, *parts: str) -> str:
    """The same for the same parts, so that a repeated write is one record; another tenant's is another one."""
    return str(uuid.uuid5(IDS, json.dumps([tenant, *parts])))


def embedder_changed(where: str, kept: str, kept_size: int | None, now: str, now_size: int | None) -> RefusedError:
    def shown(name: str, size: int | None) -> str:
        return f"{name!r}" + (f" ({size} numbers)" if size else "")

    return RefusedError(
        f"The memory {where} was made by the embedder {shown(kept, kept_size)}, and now it is {shown(now, now_size)}. Nothing was changed.",
        remedy="`interlock memory reembed` embeds it anew; or set INTERLOCK_EMBEDDINGS back.",
        code="embedder_changed",
    )
