"""The official saver of LangGraph with one statement changed: a checkpoint is stored only under a current lease, and replaces older ones.

See migrations 0005 and 0009: lease, head and the record of the transition are checked and written inside that statement, and what the
checkpoint supersedes is dropped there, so it costs no commit more than the official saver's. It takes one less where a task runs alone:
what that task wrote stands in the checkpoint that follows at once, so it is not stored before.
"""

from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import psycopg
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import WRITES_IDX_MAP, ChannelVersions, Checkpoint, CheckpointMetadata
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.serde.base import SerializerProtocol
from psycopg import AsyncCursor
from psycopg.rows import DictRow

from memory.errors import StaleError
from memory.leases import LeaseLostError, held, owner_name
from memory.postgres.database import AWAY, unavailable
from memory.postgres.stored import PlainSerializer

LEASE_LOST, MOVED_ON = "IL001", "IL002"


class GuardedSaver(AsyncPostgresSaver):
    """Threads without a `run` row are stored as the official saver stores them. One for each driver: it drives one thread at a time.

    `plain` names the channels of the graph whose value stands whole in every checkpoint. A channel of another kind (a DeltaChannel is put
    together from its writes) has its writes stored always.
    """

    plain: Collection[str] = ()
    _followed_by_one: str | None = None

    def __init__(self, conn: Any, serde: SerializerProtocol | None = None) -> None:
        super().__init__(conn, serde=serde or PlainSerializer())

    UPSERT_CHECKPOINTS_SQL = """
    INSERT INTO checkpoints (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata)
    SELECT * FROM (VALUES (%s::text, %s::text, %s::text, %s::text, %s::jsonb, %s::jsonb)) AS v (t, ns, id, parent, c, m)
    WHERE CASE WHEN interlock.guard_checkpoint(v.t, v.ns, v.id, v.parent, v.c, v.m)
               THEN interlock.drop_superseded(v.t, v.ns, v.id, v.parent, v.c, v.m) END
    ON CONFLICT (thread_id, checkpoint_ns, checkpoint_id)
    DO UPDATE SET checkpoint = EXCLUDED.checkpoint, metadata = EXCLUDED.metadata
    """

    async def aput(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, new_versions: ChannelVersions
    ) -> RunnableConfig:
        lease = held.get(str(config["configurable"]["thread_id"]))
        if lease and lease.of_node:
            lease = None  # a server stores checkpoints beside its nodes: this one may arrive when the node has given its lease up
        self._followed_by_one = checkpoint["id"] if lease and _count_of_next(checkpoint) == 1 else None
        fenced: CheckpointMetadata = {**metadata, "lease_epoch": lease.epoch if lease else None, "lease_writer": owner_name()}  # type: ignore[typeddict-unknown-key]
        return await super().aput(config, checkpoint, fenced, new_versions)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Errors, questions and answers are stored in any case: no checkpoint follows them."""
        alone = self._followed_by_one is not None and config["configurable"].get("checkpoint_id") == self._followed_by_one
        if not alone or not all(self._stands_in_checkpoint(channel) for channel, _ in writes):
            await super().aput_writes(config, writes, task_id, task_path)

    def _stands_in_checkpoint(self, channel: str) -> bool:
        return channel not in WRITES_IDX_MAP and (channel in self.plain or channel.startswith(("branch:to:", "__")))

    @asynccontextmanager
    async def _cursor(self, *, pipeline: bool = False) -> AsyncIterator[AsyncCursor[DictRow]]:
        with _named_errors():
            async with super()._cursor(pipeline=pipeline) as cursor:
                yield cursor


def _count_of_next(checkpoint: Checkpoint) -> int:
    """How many tasks start from it: nodes that were triggered, and calls that were sent one by one."""
    updated = checkpoint.get("updated_channels") or []
    return sum(name.startswith("branch:to:") for name in updated) + len(checkpoint["channel_values"].get("__pregel_tasks") or [])


@contextmanager
def _named_errors() -> Iterator[None]:
    try:
        yield
    except psycopg.Error as error:
        message = (error.diag.message_primary or str(error)) if error.sqlstate else str(error)
        if error.sqlstate == LEASE_LOST:
            raise LeaseLostError(message) from error
        if error.sqlstate == MOVED_ON:
            raise StaleError(message, remedy="A thread goes on from where it stands; nothing was written.") from error
        if isinstance(error, AWAY):
            raise unavailable(error, "the database") from error
        raise
