"""A pooler in transaction mode, as far as matters here: a client has a server's session for one transaction, and then maybe another one.

It speaks PostgreSQL's own protocol and hands its few sessions round in turn, so whatever a client leaves in a session (a prepared
statement, a setting, a lock) is met by another client, or missed. Real ones can do more; none keeps a session for a client. It has no
pipeline mode and no COPY FROM.
"""

import asyncio
import os
import socket
import struct
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict

SSL, GSS, CANCEL = 80877103, 80877104, 80877102
ENDS_A_REQUEST = {b"Q", b"S"}

Session = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Pooler:
    """`with Pooler(url) as pooler:` listens at `pooler.url`, with so many sessions at the database of `url`."""

    def __init__(self, url: str, sessions: int = 2) -> None:
        self._to, self._count = conninfo_to_dict(url), sessions
        self._loop = asyncio.new_event_loop()
        self._greeting = b""
        self.transactions = 0

    def __enter__(self) -> "Pooler":
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        port = asyncio.run_coroutine_threadsafe(self._open(), self._loop).result(30)
        self.url = f"postgresql://{self._to['user']}@127.0.0.1:{port}/{self._to['dbname']}?sslmode=disable&gssencmode=disable"
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(30)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(30)
        self._loop.close()

    async def _open(self) -> int:
        self._free: asyncio.Queue[Session] = asyncio.Queue()
        self._clients: set[asyncio.Task[None]] = set()
        for _ in range(self._count):
            self._free.put_nowait(await self._connect())
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return int(self._server.sockets[0].getsockname()[1])

    async def _close(self) -> None:
        self._server.close()
        for client in self._clients:
            client.cancel()
        await asyncio.gather(*self._clients, return_exceptions=True)
        while not self._free.empty():
            self._free.get_nowait()[1].close()
        await asyncio.sleep(0)

    async def _connect(self) -> Session:
        host, port = str(self._to["host"]), str(self._to.get("port") or 5432)
        if host.startswith("/"):
            reader, writer = await asyncio.open_unix_connection(str(Path(host) / f".s.PGSQL.{port}"))
        else:
            reader, writer = await asyncio.open_connection(host, int(port))
        names = {"user": self._to["user"], "database": self._to["dbname"], "application_name": "pooler"}
        body = struct.pack("!I", 196608) + b"".join(f"{name}\0{value}\0".encode() for name, value in names.items()) + b"\0"
        writer.write(struct.pack("!I", len(body) + 4) + body)
        greeting = b""
        while True:
            kind, message = await _message(reader)
            assert kind != b"E", message
            greeting += message
            if kind == b"Z":
                self._greeting = greeting
                return reader, writer

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._clients.add(task)
        try:
            with suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
                if await _is_greeted(reader, writer):
                    writer.write(self._greeting)
                    await self._transactions(reader, writer)
        finally:
            self._clients.discard(task)
            writer.close()

    async def _transactions(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            kind, message = await _message(reader)
            if kind == b"X":
                return
            session = await self._free.get()
            try:
                await _transaction(session, kind, message, reader, writer)
            except BaseException:
                session[1].close()  # in the middle of something: nobody else may have it
                session = await self._connect()
                raise
            finally:
                self.transactions += 1
                self._free.put_nowait(session)


async def _transaction(session: Session, kind: bytes, message: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Until the session says that it is idle."""
    while True:
        session[1].write(message)
        if kind in ENDS_A_REQUEST:
            while True:
                kind, answer = await _message(session[0])
                writer.write(answer)
                if kind == b"Z":
                    break
            await writer.drain()
            if answer[-1:] == b"I":
                return
        kind, message = await _message(reader)


async def _message(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    head = await reader.readexactly(5)
    return head[:1], head + await reader.readexactly(struct.unpack("!I", head[1:])[0] - 4)


async def _is_greeted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    while True:
        length, code = struct.unpack("!II", await reader.readexactly(8))
        await reader.readexactly(length - 8)
        if code not in {SSL, GSS}:
            return bool(code != CANCEL)
        writer.write(b"N")


class PgBouncer:
    """The real one, where it is installed; it refuses to run as root, and goes under the account of the server then."""

    transactions = None  # it does not tell

    def __init__(self, url: str, folder: Path, sessions: int = 2) -> None:
        to = conninfo_to_dict(url)
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            self._port = one.getsockname()[1]
        self._ini, self._log = folder / "pgbouncer.ini", folder / "log"
        self._log.touch()
        self._log.chmod(0o666)
        self._ini.write_text(f"""
[databases]
{to["dbname"]} = host={to["host"]} port={to.get("port", 5432)} dbname={to["dbname"]} user={to["user"]}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {self._port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = {sessions}
logfile = {self._log}
""")
        self.url = f"postgresql://{to['user']}@127.0.0.1:{self._port}/{to['dbname']}?sslmode=disable"

    def __enter__(self) -> "PgBouncer":
        account = ["-u", "postgres"] if os.geteuid() == 0 else []
        self._process = subprocess.Popen(["pgbouncer", "-q", *account, str(self._ini)], stdin=subprocess.DEVNULL)
        end = time.monotonic() + 30
        while True:
            try:
                socket.create_connection(("127.0.0.1", self._port), 1).close()
                return self
            except OSError:
                assert self._process.poll() is None and time.monotonic() < end, self._log.read_text()
                time.sleep(0.05)

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(20)
