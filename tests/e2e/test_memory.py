"""The agent remembers over threads and processes, one tenant apart from the other, and a memory that fails costs it nothing else.

Embeddings come from the bench's strict model server; what the model is told is read from what it got.
"""

from collections.abc import Iterator
from contextlib import closing
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


def test_a_rejection_and_its_reason_are_in_the_prompt_of_the_next_thread(agent: Any) -> None:
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
