"""LangGraph's own suite for savers, in full, against the guarded saver and the official one: on threads without a run they are the same."""

from collections.abc import AsyncGenerator
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.conformance import validate
from langgraph.checkpoint.conformance.initializer import RegisteredCheckpointer
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

from memory.postgres.database import Database
from memory.postgres.saver import GuardedSaver

NOT_OFFICIAL = {"copy_thread", "delete_for_runs"}  # the official saver has neither


async def conformance(database: Database, kind: type[AsyncPostgresSaver]) -> dict[str, Any]:
    async def savers() -> AsyncGenerator[BaseCheckpointSaver[Any], None]:
        yield kind(database.pool)  # type: ignore[arg-type]

    return (await validate(RegisteredCheckpointer(kind.__name__, savers))).to_dict()["results"]  # type: ignore[no-any-return]


async def test_it_passes_what_the_official_saver_passes(database_url: str) -> None:
    async with Database(database_url) as database:
        guarded, official = [await conformance(database, kind) for kind in (GuardedSaver, AsyncPostgresSaver)]
    assert guarded == official
    assert [failure for result in guarded.values() for failure in result["failures"]] == []
    assert {name for name, result in guarded.items() if not result["detected"]} == NOT_OFFICIAL
    assert all(result["passed"] and result["tests_passed"] for name, result in guarded.items() if name not in NOT_OFFICIAL)
