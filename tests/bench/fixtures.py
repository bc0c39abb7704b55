"""The bench as fixtures. `database_url` and `home` come from conftest."""

import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from bench.cli import Cli, Environment, base_environment
from bench.openai_server import OpenAIServer
from bench.world import FOLDER, World
from bench.zygote import Zygote

TOOLS = Path(__file__).with_name("tools_for_tests.py")


@pytest.fixture
def model_server() -> Iterator[OpenAIServer]:
    """A strict model server with an empty script: `model_server.play(call(...), say(...))`."""
    with OpenAIServer() as server:
        yield server


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """The outside world, for tools in processes (`cli_factory(world=world)`) and in this one."""
    made = World(tmp_path / "world")
    monkeypatch.setenv(FOLDER, str(made.folder))
    return made


@pytest.fixture(scope="session")
def zygote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Zygote]:
    """What commands are forked from; tests share it, because loading everything takes more than most tests."""
    folder = tmp_path_factory.mktemp("zygote")
    made = Zygote(base_environment(folder), folder)
    yield made
    made.close()


@pytest.fixture
def cli_factory(request: pytest.FixtureRequest, database_url: str, home: Path, tmp_path: Path) -> Iterator[Callable[..., Cli]]:
    """Makes a Cli on this test's database, in a folder of its own that is the user's current one. Marked `cold_start`, it forks nothing.

    `model` is a started model server (none: the practice model); `world` brings the tools of tools_for_tests,
    copied into that folder as a user's file; `environment` adds names, or takes them away with None.
    """
    made: list[Cli] = []
    zygote = None if request.node.get_closest_marker("cold_start") else request.getfixturevalue("zygote")

    def make(
        model: OpenAIServer | None = None,
        world: World | None = None,
        environment: Environment | None = None,
        timeout: float = 60,
    ) -> Cli:
        folder, user = tmp_path / "project", tmp_path / "user"
        folder.mkdir(exist_ok=True)
        user.mkdir(exist_ok=True)
        names: dict[str, str | None] = {
            **base_environment(user),
            "INTERLOCK_DATABASE_URL": database_url,
            "INTERLOCK_HOME": str(home),
            **(model.environment() if model else {}),
            **(_tools(world, folder) if world else {}),
            **(environment or {}),
        }
        chosen = {name: value for name, value in names.items() if value is not None}
        cli = Cli(chosen, folder, timeout=timeout, zygote=zygote)
        made.append(cli)
        return cli

    yield make
    for cli in made:
        cli.close()


def _tools(world: World, folder: Path) -> Mapping[str, str]:
    shutil.copy(TOOLS, folder)
    return {"INTERLOCK_TOOLS": f"{TOOLS.stem}:TOOLS", **world.environment()}


@pytest.fixture
def cli(cli_factory: Callable[..., Cli]) -> Cli:
    """The command line with the practice model and the shipped tools."""
    return cli_factory()
