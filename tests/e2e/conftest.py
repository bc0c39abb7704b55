"""An agent as its user has it: the command line, the strictest model server, a world of its own and a real database.

Every test that uses it ends with the record verified, and with a model server that refused nothing.
"""

import contextlib
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from bench import shapes
from bench.cli import Cli, Result
from bench.openai_server import OpenAIServer, Rules, Step
from bench.postgres import PostgresBench
from bench.world import World
from langgraph.checkpoint.postgres import PostgresSaver
from psycopg.rows import dict_row

STRICTEST = Rules(allow_null_content=False, call_order=True, user_first=True, parsable_arguments=True)
OTHER_TIME = re.compile(r'"\d{4}-\d\d-\d\dT[^"]*(?<!Z)"')


class Agent:
    def __init__(self, cli: Cli, model: OpenAIServer, world: World, bench: PostgresBench, url: str) -> None:
        self.cli, self.model, self.world, self.url, self._bench = cli, model, world, url, bench
        self.project: Path = cli.cwd

    def __call__(self, *arguments: str, expect: int, **more: Any) -> Any:
        """The document that a command prints, after its exit code was found right."""
        result: Result = self.cli(*arguments, "--json", **more).expect(expect)
        assert not OTHER_TIME.search(result.stdout), "a time has one form in all that we write"
        assert not (wrong := shapes.faults(arguments, result.json)), f"not as docs/reference.md says: {wrong}"
        return result.json

    def start(self, *steps: Step, thread: str = "t", expect: int = 3, **more: Any) -> Any:
        """A thread `thread`, whose model says `steps`."""
        self.model.play(*steps)
        return self("start", "do what is due", "--thread", thread, expect=expect, **more)

    def rewrite_tools(self, old: str, new: str) -> None:
        """Changes the user's file of tools between two commands."""
        file = self.project / "tools_for_tests.py"
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new, 1))

    def events(self, thread: str = "t") -> list[dict[str, Any]]:
        return self("audit", thread, "--verify", expect=0)["events"]

    def kinds(self, thread: str = "t") -> list[str]:
        return [event["kind"] for event in self.events(thread)]

    def told(self) -> list[str]:
        """What the model was told in its last request about the calls of its last message, in their order."""
        return [message["content"] for message in self.model.last_tool_messages()]

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with self.superuser() as database:
            return database.execute(query).fetchall()  # type: ignore[arg-type]

    def unanswered(self, thread: str = "t") -> list[str]:
        """The ids of calls that do not have exactly one tool message, in the history as LangGraph's own saver reads it."""
        with psycopg.connect(self.url, autocommit=True, row_factory=dict_row) as database:
            kept = PostgresSaver(database).get_tuple({"configurable": {"thread_id": thread}})
        assert kept is not None
        messages = kept.checkpoint["channel_values"]["messages"]
        answers = Counter(message.tool_call_id for message in messages if message.type == "tool")
        asked = [made["id"] for message in messages if message.type == "ai" for made in message.tool_calls]
        return [one for one in asked if answers[one] != 1]

    def count_rows(self) -> dict[str, int]:
        """The rows of every table there is."""
        named = "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables WHERE schemaname IN ('interlock', 'public')"
        with self.superuser() as database:
            tables = [row[0] for row in database.execute(named)]
            return {table: database.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables}  # type: ignore[arg-type,index]

    @contextlib.contextmanager
    def superuser(self, *, triggers: bool = True) -> Iterator[psycopg.Connection[Any]]:
        with self._bench.admin(self.url) as database:
            if not triggers:
                database.execute("SET session_replication_role = replica")
            yield database


@pytest.fixture
def agent(
    cli_factory: Callable[..., Cli], model_server: OpenAIServer, world: World, postgres_server: PostgresBench, database_url: str
) -> Iterator[Agent]:
    model_server.rules = STRICTEST
    made = Agent(cli_factory(model_server, world), model_server, world, postgres_server, database_url)
    yield made
    assert made("audit", "--verify", expect=0)["verified"] is True
    assert model_server.refusals == []
    assert model_server.unexpected == []
