"""Two PostgreSQL servers in streaming replication, one of which can be lost.

    pair = Pair(folder)            # one is the primary, two its standby
    url = pair.create()            # a database on both, by a DSN that names both
    pair.lose_primary()            # SIGKILL, all its processes at once
    pair.promote()
    pair.rebuild()                 # the lost one comes back as the standby of the other
"""

import asyncio
import os
import secrets
import shutil
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import psycopg
from bench.postgres import wait_until

from memory.postgres.embedded import NAME, SUPERUSER, EmbeddedServer
from memory.postgres.migrate import migrate

# Nobody cuts the power, so nothing has to reach a disk; but a commit waits for the standby, where one is named.
SETTINGS = {"fsync": "off", "full_page_writes": "on", "autovacuum": "off", "synchronous_commit": "on", "wal_receiver_status_interval": "1"}
STREAMS = "SELECT count(*) = 1 FROM pg_stat_replication WHERE state = 'streaming'"
IS_SYNCHRONOUS = "SELECT count(*) = 1 FROM pg_stat_replication WHERE sync_state = 'sync'"
HELD = "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND application_name = 'interlock'"
IS_CUT_OFF = "SELECT count(*) = 0 FROM pg_stat_replication"


class Pair:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.primary, self.standby = (EmbeddedServer(folder / name, settings=SETTINGS) for name in ("one", "two"))
        self.primary.up()
        with ThreadPoolExecutor(1) as pool:
            pool.submit(asyncio.run, migrate(self.primary.url())).result()
        self.rebuild()

    def create(self) -> str:
        name = f"test_{secrets.token_hex(6)}"
        self._tell(self.primary, f"CREATE DATABASE {name} OWNER {NAME} TEMPLATE {NAME}")
        hosts = ",".join(quote(str(server.socket)) for server in sorted((self.primary, self.standby), key=lambda one: one.home))
        return f"postgresql://{NAME}@/{name}?host={hosts}&port=5432,5432&target_session_attrs=read-write"

    def lose_primary(self) -> None:
        postmaster = self.primary.pid()
        assert postmaster
        for pid in [postmaster, *_children(postmaster)]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        while self.primary.pid() == postmaster:
            time.sleep(0.01)

    def promote(self) -> float:
        """How many seconds it took until the standby was the primary."""
        began = time.monotonic()
        binaries = self.standby._binaries()
        done = self.standby._run(binaries / "pg_ctl", "promote", "-w", "-D", self.standby.data)
        assert done.returncode == 0, done.stderr
        self.primary, self.standby = self.standby, self.primary
        return time.monotonic() - began

    def synchronous(self, on: bool) -> None:
        """Whether a commit waits for the standby."""
        self._tell(self.primary, f"ALTER SYSTEM SET synchronous_standby_names = '{'*' if on else ''}'", "SELECT pg_reload_conf()")
        if on:
            wait_until(self.admin_url(), IS_SYNCHRONOUS)

    def cut_off(self) -> None:
        """From now on the standby gets nothing: what is committed meanwhile is lost with the primary."""
        self._tell(self.standby, "ALTER SYSTEM SET primary_conninfo = ''", "SELECT pg_reload_conf()")
        wait_until(self.admin_url(), IS_CUT_OFF)

    def wait_for_a_held_commit(self) -> None:
        wait_until(self.admin_url(), HELD)

    def rebuild(self) -> None:
        """A new standby of the primary, in the place of the other server."""
        self._admit(self.primary)
        self._tell(self.primary, "ALTER SYSTEM RESET ALL", "SELECT pg_reload_conf()")
        standby = self.standby
        standby.down()
        standby._make_folder()
        shutil.rmtree(standby.data, ignore_errors=True)
        standby._make_private(standby.data)
        source = f"host={self.primary.socket} port=5432 user={SUPERUSER} application_name=standby"
        flags = ["-R", "-X", "stream", "--checkpoint=fast", "--no-sync", "--no-manifest"]
        done = standby._run(standby._binaries() / "pg_basebackup", "-D", standby.data, "-d", source, *flags)
        assert done.returncode == 0, done.stderr
        standby.up()
        wait_until(self.admin_url(), STREAMS)

    def down(self) -> None:
        self.standby.down()
        self.primary.down()

    def admin_url(self) -> str:
        return self.primary.url(database=SUPERUSER, user=SUPERUSER)

    def _admit(self, server: EmbeddedServer) -> None:
        """A standby, whatever account it runs as. Only the account itself and root reach the socket."""
        access = server.folder / "access"
        access.write_text(f"local replication {SUPERUSER} trust\n{access.read_text()}")

    def _tell(self, server: EmbeddedServer, *statements: str) -> None:
        with psycopg.connect(server.url(database=SUPERUSER, user=SUPERUSER), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)  # type: ignore[call-overload]


def _children(pid: int) -> list[int]:
    file = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(word) for word in file.read_text().split()] if file.exists() else []
