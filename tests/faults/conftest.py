"""What every test of faults needs: a bank of calls, a judge, and a table at the end of the session."""

from collections.abc import Callable
from typing import Any

import pytest
from bench.cli import Cli
from bench.openai_server import OpenAIServer
from bench.world import World
from faults.bank import Bank


@pytest.fixture
def commands(cli_factory: Callable[..., Cli], model_server: OpenAIServer, world: World) -> Cli:
    """The command line with the bank's tools and the strict model server."""
    return cli_factory(model=model_server, world=world)


@pytest.fixture
def open_bank(commands: Cli, model_server: OpenAIServer, world: World, database_url: str) -> Callable[[str], Bank]:
    return lambda kind: Bank(kind, commands, model_server, world, database_url)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What was survived, by kind of tool. A row counts judged runs only: a duplicate or a loss fails its test."""
    reports = [report for outcome in ("passed", "failed") for report in terminalreporter.getreports(outcome)]
    faults = [value for report in reports if report.when == "call" for name, value in report.user_properties if name == "fault"]
    if not faults:
        return
    terminalreporter.section("faults survived")
    terminalreporter.write_line(f"{'kind of tool':<18}" + "".join(f"{name:>12}" for name in COLUMNS))
    for kind in sorted({fault["kind"] for fault in faults}):
        terminalreporter.write_line(_row(kind, [fault for fault in faults if fault["kind"] == kind]))
    terminalreporter.write_line(_row("all", faults))
    lost = sum(report.when == "call" for report in terminalreporter.getreports("failed"))
    terminalreporter.write_line(f"runs that did not hold what is promised: {lost}")


COLUMNS = ("points", "runs", "crashes", "effects", "duplicates", "losses", "unknowns")


def _row(name: str, faults: list[dict[str, Any]]) -> str:
    counted = [len({(fault["command"], fault["point"]) for fault in faults}), len(faults)]
    counted += [sum(fault[column] for fault in faults) for column in COLUMNS[2:]]
    return f"{name:<18}" + "".join(f"{number:>12}" for number in counted)
