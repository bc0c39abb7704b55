"""What is stored, by whom and for how long it can be gone on with."""

import asyncio
import inspect
import sys
import threading
import tomllib
from pathlib import Path
from typing import Any

import pytest
from bench.in_process import CONFIG, InProcess
from bench.openai_server import call, say
from bench.postgres import PostgresBench
from bench.world import World
from field.dump import names_of_migrations, restore
from langgraph.types import Command
from psycopg.rows import dict_row

from graph.calls import call_key
from memory.canonical import sha256
from memory.errors import UnavailableError
from memory.postgres.database import Database, refuse_proactor
from memory.postgres.migrate import MIGRATIONS, migrate

ROOT = Path(__file__).parents[2]
PAY = {"to": "bob", "amount": 5}
APPROVE = {"decisions": [{"type": "approve"}]}


async def test_c034_connections_are_made_here_and_are_made_right(database_url: str) -> None:
    """Nobody hands in a connection: every door takes an address, and what is made of it commits by itself and gives dicts."""
    assert next(iter(inspect.signature(migrate).parameters.values())).annotation in {str, "str"}
    assert next(iter(inspect.signature(Database).parameters.values())).annotation in {str, "str"}
    async with Database(database_url) as database, database.connection() as connection:
        assert (connection.autocommit, connection.row_factory, connection.prepare_threshold) == (True, dict_row, None)


async def test_c045_what_cannot_be_stored_is_in_no_state(thread: InProcess, world: World) -> None:
    """Resources are no part of state or config: in the config they are not stored, in the state they are refused and nothing moves."""
    await thread.begin()
    beside = {"configurable": {**CONFIG["configurable"], "lock": threading.Lock(), "client": lambda: None}}
    with pytest.raises(TypeError, match="not msgpack serializable"):
        await thread.graph.aupdate_state(CONFIG, {"proposed_action": {"lock": threading.Lock()}}, as_node="agent_think")
    ended = await thread.graph.ainvoke(Command(resume=APPROVE), beside, durability="sync")
    assert ended["final_answer"] == {"text": "Done."} and world.lines("transfer") == ["5 to bob"]
    kept = thread.sql("SELECT DISTINCT jsonb_object_keys(metadata) FROM checkpoints")
    assert not {"lock", "client"} & {key for (key,) in kept}


async def test_c053_the_config_of_a_state_resumes_as_the_thread_does(thread: InProcess, world: World) -> None:
    """The config that `get_state` gives, with its checkpoint, answers the same question; an older one is refused (C007)."""
    await thread.begin()
    config = (await thread.graph.aget_state(CONFIG)).config
    assert config["configurable"]["checkpoint_id"]
    ended = await thread.graph.ainvoke(Command(resume=APPROVE), config, durability="sync")
    assert ended["final_answer"] == {"text": "Done."}
    assert world.lines("transfer") == ["5 to bob"]


def test_c055_a_thread_that_an_earlier_release_left_goes_on(
    agent: Any, postgres_server: PostgresBench, empty_database_url: str, tmp_path: Path
) -> None:
    """The rows of a thread that release 0.1.0 left waiting are shown, approved and driven to the end, once."""
    for name in names_of_migrations():
        (tmp_path / name).write_text((MIGRATIONS / name).read_text())
    asyncio.run(migrate(empty_database_url, folder=tmp_path))
    with postgres_server.admin(empty_database_url) as database:
        restore(database)
    old = {"INTERLOCK_DATABASE_URL": empty_database_url}
    agent("db", "migrate", expect=0, environment=old)
    [asked] = agent("show", "t", expect=0, environment=old)["pending"]
    assert asked["args"] == PAY
    agent.model.play(say("Paid."))
    ended = agent.cli("approve", "t", "--json", environment=old)
    if ended.exit_code == 3:  # asked again, because the tool is described in another way since
        ended = agent.cli("approve", "t", "--json", environment=old)
    assert ended.expect(0).json["status"] == "completed"
    assert agent("audit", "t", "--verify", expect=0, environment=old)["verified"] is True
    assert agent.world.lines("transfer") == ["5 to bob"]


def test_c056_threads_of_another_database_do_not_exist(agent: Any, empty_database_url: str) -> None:
    """The rule of docs/security.md: a database is the wall, a tenant is none. From another database there is no such thread."""
    [asked] = agent.start(call("transfer", PAY), environment={"INTERLOCK_TENANT": "ours"})["pending"]
    theirs = {"INTERLOCK_DATABASE_URL": empty_database_url, "INTERLOCK_TENANT": "ours"}
    agent("db", "migrate", expect=0, environment=theirs)
    for words in (("show", "t"), ("resume", "t"), ("audit", "t"), ("replay", "t"), ("approve", "t"), ("approve", asked["approval_id"])):
        assert agent(*words, expect=4, environment=theirs)["error"]["code"] in {"no_such_thread", "no_such_approval"}
    assert agent("runs", expect=0, environment=theirs)["runs"] == agent("inbox", expect=0, environment=theirs)["pending"] == []
    rule = " ".join((ROOT / "docs/security.md").read_text().split())
    assert "It is no wall between people" in rule and "a database of its own" in rule
    assert agent.world.attempts("transfer") == 0



def test_c082_a_digest_covers_types_and_what_is_missing_and_not_the_order(agent: Any) -> None:
    """Order does not matter; a number, its text, null and what is missing differ, and so do two ways to write one letter."""
    same = [{"a": 1, "b": "x"}, {"b": "x", "a": 1}]
    assert sha256(same[0]) == sha256(same[1])
    differ: list[Any] = [{"a": 1}, {"a": "1"}, {"a": None}, {}, {"a": True}, {"a": "\u00e9"}, {"a": "e\u0301"}, {"a": [1]}]
    assert len({sha256(args) for args in differ}) == len(differ)
    places = [("t", "m", 0), ("u", "m", 0), ("t", "n", 0), ("t", "m", 1)]
    assert len({call_key(*place, "transfer", sha256(PAY)) for place in places}) == len(places)

    first = agent.start(call("transfer", PAY), call("transfer", dict(reversed(PAY.items()))), say("Paid."))["pending"][0]
    second = agent("approve", "t", expect=3)["pending"][0]
    assert second["args_sha256"] == first["args_sha256"] and second["approval_id"] != first["approval_id"]
    assert agent.world.lines("transfer") == ["5 to bob"], "an approval is for one call, and is used up"


def test_c091_a_question_is_asked_from_an_async_node_on_the_lowest_python() -> None:
    """LangGraph's context needs Python 3.11 in async nodes, and older ones are not claimed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["requires-python"] == ">=3.11" and sys.version_info >= (3, 11)
    assert "sys.version_info < (3, 11)" in (ROOT / "Makefile").read_text()


async def test_c092_a_loop_that_cannot_serve_the_database_is_refused_in_one_line(database_url: str) -> None:
    """On Windows' own loop nothing hangs or fails deep inside: it is refused with what to use."""
    windows = type("ProactorEventLoop", (), {})()
    with pytest.raises(UnavailableError) as refused:
        refuse_proactor(windows)
    assert refused.value.code == "wrong_loop" and "\n" not in refused.value.message and "WSL" in refused.value.remedy
    assert "refuse_proactor(asyncio.get_running_loop())" in inspect.getsource(Database.__aenter__)
    assert "WSL" in (ROOT / "README.md").read_text()
