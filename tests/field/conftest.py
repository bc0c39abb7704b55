"""The agent of tests/e2e, and the application in this process."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from bench.in_process import InProcess
from bench.postgres import PostgresBench
from bench.world import World
from e2e.conftest import agent  # noqa: F401  # a fixture

from graph.app import open_app
from graph.settings import Settings


@pytest.fixture
async def thread(database_url: str, tmp_path: Path, world: World, postgres_server: PostgresBench) -> AsyncIterator[InProcess]:
    settings = Settings(home=tmp_path, database_url=database_url, tools=("bench.tools_for_tests:TOOLS",))
    async with open_app(settings) as application:
        yield InProcess(application, postgres_server, database_url)
