"""Fixtures for every test: a server for the session, a database and a home for each test."""

import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bench.postgres import PostgresBench, make_folder, remove_folder, remove_left_over
from hypothesis import HealthCheck, settings

from memory.postgres.embedded import EmbeddedServer

pytest_plugins = ["bench.fixtures"]

FOLDER = pytest.StashKey[Path]()

# Who starts the tests in the background of a shell, or under nohup, leaves them deaf to what some of them send.
for number in (signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)

# A busy machine is slow, and no example is wrong for that.
settings.register_profile("tests", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tests")


def pytest_configure(config: pytest.Config) -> None:
    worker: dict[str, Any] | None = getattr(config, "workerinput", None)
    if worker is None:
        remove_left_over()
    config.stash[FOLDER] = Path(worker["bench_folder"]) if worker else make_folder()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    node.workerinput["bench_folder"] = str(node.config.stash[FOLDER])


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput") and (folder := config.stash.get(FOLDER, None)):
        remove_folder(folder)


@pytest.fixture(scope="session")
def postgres_server(pytestconfig: pytest.Config) -> PostgresBench:
    """The session's own PostgreSQL, shared by its workers and stopped at its end."""
    bench = PostgresBench(pytestconfig.stash[FOLDER])
    bench.up()
    return bench


@pytest.fixture
def database_url(postgres_server: PostgresBench) -> Iterator[str]:
    """A migrated database of this test's own."""
    url = postgres_server.create()
    yield url
    postgres_server.drop(url)


@pytest.fixture
def empty_database_url(postgres_server: PostgresBench) -> Iterator[str]:
    """A database of this test's own that nobody has set up."""
    url = postgres_server.create(migrated=False)
    yield url
    postgres_server.drop(url)


@pytest.fixture
def home(pytestconfig: pytest.Config) -> Iterator[Path]:
    """An INTERLOCK_HOME of this test's own; a server that was started in it is stopped."""
    folder = Path(tempfile.mkdtemp(prefix="home-", dir=pytestconfig.stash[FOLDER]))
    folder.chmod(0o711)
    yield folder
    EmbeddedServer(folder).down()
    shutil.rmtree(folder)
