"""The official saver of LangGraph with one statement changed: a checkpoint is stored only under a current lease, and replaces older ones.

See migrations 0005 and 0009: lease, head and the record of the transition are checked and written inside that statement, and what the
checkpoint supersedes is dropped there, so it costs no commit more than the official saver's.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import psycopg
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg import AsyncCursor
from psycopg.rows import DictRow

from memory.errors import StaleError
from memory.leases import LeaseLostError, held, owner_name
from memory.postgres.database import unavailable

LEASE_LOST, MOVED_ON = "IL001", "IL002"


class GuardedSaver(AsyncPostgresSaver):
    """Threads without a `run` row are stored as the official saver stores them."""

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
        fenced: CheckpointMetadata = {**metadata, "lease_epoch": lease.epoch if lease else None, "lease_writer": owner_name()}  # type: ignore[typeddict-unknown-key]
        return await super().aput(config, checkpoint, fenced, new_versions)

    @asynccontextmanager
    async def _cursor(self, *, pipeline: bool = False) -> AsyncIterator[AsyncCursor[DictRow]]:
        with _named_errors():
            async with super()._cursor(pipeline=pipeline) as cursor:
                yield cursor


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
        if isinstance(error, psycopg.OperationalError):
            raise unavailable(error, "the database") from error
        raise
