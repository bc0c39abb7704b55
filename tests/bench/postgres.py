"""One private PostgreSQL for a test session, and a fresh database for each test.

Workers of a parallel session share the server: starting it is safe for any number of processes, and only the session's
controlling process removes it. A session that was killed leaves its folder; the next session removes that.
"""

import asyncio
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
from filelock import FileLock

from memory.errors import UnavailableError
from memory.postgres.embedded import NAME, SUPERUSER, EmbeddedServer
from memory.postgres.migrate import migrate

PREFIX = "interlock-tests-"
TEMPLATE = "template_migrated"
LEASES_ARE_OVER = "SELECT bool_and(lease_until < clock_timestamp()) FROM interlock.run"
# No test of this server cuts the power, so nothing has to reach the disk; the product's own server keeps fsync on.
FAST = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
    "max_connections": "300",
}


def make_folder() -> Path:
    """Short, because socket paths are; open to be passed through, because root's server runs under another account."""
    folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir="/tmp"))
    folder.chmod(0o711)
    return folder


def remove_folder(folder: Path) -> None:
    for home in folder.iterdir():
        EmbeddedServer(home).down()
    shutil.rmtree(folder)


def remove_left_over() -> None:
    for folder in Path("/tmp").glob(f"{PREFIX}*"):
        pid = folder.name.removeprefix(PREFIX).partition("-")[0]
        with suppress(OSError, UnavailableError):  # another session may be removing it too
            if folder.stat().st_uid == os.geteuid() and pid.isdecimal() and not _is_alive(int(pid)):
                remove_folder(folder)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def wait_until(url: str, query: str, timeout: float = 30) -> None:
    """Until a query says true."""
    end = time.monotonic() + timeout
    with psycopg.connect(url, autocommit=True) as connection:
        while (row := connection.execute(query).fetchone()) != (True,):  # type: ignore[arg-type]
            assert time.monotonic() < end, f"{query!r} still says {row} after {timeout} s"
            time.sleep(0.02)


class PostgresBench:
    """The session's server. `admin()` connects as its superuser, to a database of a test or to none in particular."""

    def __init__(self, folder: Path) -> None:
        self.server = EmbeddedServer(folder / "server", settings=FAST)
        self._lock = FileLock(folder / "template.lock")

    def up(self) -> None:
        self.server.up()

    @contextmanager
    def admin(self, url: str | None = None) -> Iterator[psycopg.Connection]:
        database = urlsplit(url).path.removeprefix("/") if url else SUPERUSER
        with psycopg.connect(self.server.url(database=database, user=SUPERUSER), autocommit=True) as connection:
            yield connection

    def create(self, *, migrated: bool = True) -> str:
        """The URL of a new database that belongs to the role `interlock`."""
        if migrated:
            self._make_template()
        name = f"test_{secrets.token_hex(6)}"
        self._create(name, TEMPLATE if migrated else "template1")
        return self.server.url(database=name)

    def drop(self, url: str) -> None:
        with self.admin() as connection:
            connection.execute(f"DROP DATABASE IF EXISTS {urlsplit(url).path.removeprefix('/')} WITH (FORCE)")

    def _create(self, name: str, template: str) -> None:
        with self.admin() as connection:
            connection.execute(f"CREATE DATABASE {name} OWNER {NAME} TEMPLATE {template} STRATEGY file_copy")

    def _make_template(self) -> None:
        with self._lock, self.admin() as connection:
            if connection.execute("SELECT FROM pg_database WHERE datname = %s", (TEMPLATE,)).rowcount:
                return
            connection.execute("DROP DATABASE IF EXISTS half_made WITH (FORCE)")
            self._create("half_made", "template1")
            # In a thread, because a test's event loop may be running in this one.
            with ThreadPoolExecutor(1) as pool:
                pool.submit(asyncio.run, migrate(self.server.url(database="half_made"))).result()
            connection.execute(f"ALTER DATABASE half_made RENAME TO {TEMPLATE}")
