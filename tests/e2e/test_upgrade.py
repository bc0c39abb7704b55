"""A database that an earlier release left, with threads in it that wait, is migrated and driven to its end by this one.

tests/releases holds such databases as `pg_dump --inserts --no-owner --no-privileges` writes them, each named by its last migration.
"""

from pathlib import Path
from typing import Any

import pytest
from bench.openai_server import say

RELEASES = sorted((Path(__file__).parents[1] / "releases").glob("*.sql"))


def restore(agent: Any, dump: Path) -> None:
    with agent.superuser() as database:
        database.execute("DROP SCHEMA interlock, interlock_analytics, public CASCADE; CREATE SCHEMA public")
        database.execute("ALTER SCHEMA public OWNER TO interlock; SET ROLE interlock")
        lines = (line for line in dump.read_text().splitlines() if not line.startswith("\\"))  # psql's own
        database.execute("\n".join(lines))


@pytest.mark.parametrize("dump", RELEASES, ids=lambda dump: dump.stem)
def test_threads_of_an_earlier_release_are_driven_to_their_end(agent: Any, dump: Path) -> None:
    restore(agent, dump)
    assert agent("inbox", expect=7)["error"]["code"] == "schema_behind"
    assert agent("db", "migrate", expect=0)["applied"]
    assert agent("audit", "--verify", expect=0)["verified"] is True
    assert agent("resume", "done", expect=0)["final_answer"] == "Hello."
    for thread in ("waits", "left", "unknown", "quorum"):
        agent.model.play(say(f"{thread} is over."))
        if thread == "quorum":
            assert agent("show", thread, expect=0)["pending"][0]["have"] == 1
            token = agent("operator", "add", "dave", "--tier", "1", expect=0)["token"]
            ended = agent("approve", thread, expect=0, environment={"INTERLOCK_OPERATOR_TOKEN": token})
        elif thread == "unknown":
            [asked] = agent("resume", thread, expect=3)["pending"]
            assert asked["kind"] == "unknown_outcome"
            ended = agent("resolve", asked["approval_id"], "--done", "it arrived", expect=0)
        else:
            ended = agent("approve" if thread == "waits" else "resume", thread, expect=0)
        assert (ended["status"], ended["final_answer"]) == ("completed", f"{thread} is over.")
        assert agent.unanswered(thread) == []
    assert agent.world.lines("transfer") == ["5 to bob"] * 2  # not the one that was begun before
    assert agent.world.attempts("transfer_checked") == 1
