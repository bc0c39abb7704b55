"""`interlock stats` on a generated history of ten thousand questions, of which it is known what is to be said, and what is not."""

import json
import random
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from bench.cli import Cli
from bench.openai_server import call, say

NOW = datetime.now(UTC).replace(microsecond=0)
ARGS = '{"text":"' + "x" * 100 + '"}'
READING = (len(ARGS) + 150) / 40
POLICY = """
[[rule]]
name = "staging"
when = 'tool == "deploy_code" && args.environment == "staging"'
verdict = "ask"
"""
ADVISED = {
    ("loosen", "deploy_code"), ("forbid", "drop_table"), ("deadline", "page"), ("tier", "refund"), ("proposals", "invoice"),
    ("ask_again", "look_up"), ("unreviewed", "forgotten"), ("hasty", "bob"), ("unseen", "carol"),
}  # fmt: skip


@dataclass(frozen=True)
class Question:
    tool: str
    rule: str
    end: str  # a status, or modified
    by: str
    asked: datetime
    took: float
    looked: float | None  # seconds before the decision that it was shown


def history() -> list[Question]:
    draw = random.Random(7)
    made: list[Question] = []

    def add(tool: str, rule: str, count: int, ends: dict[str, float], by: str, took: float, looked: float | None) -> None:
        for _ in range(count):
            end = draw.choices(list(ends), list(ends.values()))[0]
            seconds = took * draw.uniform(0.5, 1.5)
            asked = NOW - timedelta(days=draw.uniform(1, 90))
            made.append(Question(tool, rule, end, by, asked, seconds, looked and looked * draw.uniform(0.8, 1.2)))

    always = {"approved": 1.0}
    add("deploy_code", "staging", 3000, always, "bob", 4, 2)
    add("wire_money", "large", 2016, {"approved": 0.9, "rejected": 0.06, "modified": 0.04}, "alice", 300, 60)
    add("wire_money", "defaults", 12, always, "alice", 300, 60)
    add("mail", "defaults", 60, always, "alice", 300, 60)
    add("drop_table", "defaults", 800, {"rejected": 0.7, "approved": 0.3}, "alice", 100, 60)
    add("page", "night", 1000, {"expired": 0.3, "approved": 0.6, "rejected": 0.1}, "alice", 1000, 60)
    add("refund", "defaults", 600, {"escalated": 0.6, "approved": 0.3, "rejected": 0.1}, "alice", 100, 60)
    add("invoice", "defaults", 1000, {"modified": 0.45, "approved": 0.5, "rejected": 0.05}, "carol", 100, None)
    add("publish", "defaults", 1499, always, "alice", 200, 60)
    add("publish", "defaults", 1, {"rejected": 1.0}, "alice", 200, 60)
    add("archive", "defaults", 12, {"pending": 1.0}, "alice", 0, None)
    return made


@pytest.fixture
def counted(cli_factory: Callable[..., Cli], database_url: str, tmp_path: Path) -> Iterator[tuple[Cli, list[Question]]]:
    made = history()
    assert len(made) == 10_000
    write(database_url, made)
    file = tmp_path / "policy.toml"
    file.write_text(POLICY)
    yield cli_factory(environment={"INTERLOCK_POLICY": str(file)}), made


def write(url: str, made: list[Question]) -> None:
    with psycopg.connect(url) as database, database.cursor() as cursor:
        cursor.execute(
            "INSERT INTO interlock.run (thread_id, requester, requester_source, starter, starter_source, tenant, lineage_root,"
            " graph_version, tools_version) SELECT 't' || n, 'dora', 'os', 'dora', 'os', 'default', 't' || n, '1', '1'"
            " FROM generate_series(0, 99) n"
        )
        reviews = [*_reviews("look_up", 17, 3, 0), *_reviews("list_files", 30, 0, 0), *_reviews("rename", 7, 3, 0)]
        reviews += _reviews("forgotten", 5, 0, 4)
        rows = [(f"{number:032x}", one) for number, one in enumerate(made)]
        approvals = "approval_id, thread_id, call_key, tool_call_id, kind, status, tool, args, args_sha256, proposed_args, schema_sha256"
        approvals += ", tier, required, rules, version, graph_version, requested_at, decided_at"
        with cursor.copy(f"COPY interlock.approval ({approvals}) FROM STDIN") as copy:
            for name, one in rows:
                copy.write_row(_approval(name, one, json.dumps({"rule": one.rule})))
            for name, (tool, _, at) in ((f"f{number:031x}", review) for number, review in enumerate(reviews)):
                question = Question(tool, "pre", "approved", "policy", at, 0, None)
                copy.write_row(_approval(name, question, '{"rule": "pre", "pre_approved": true}'))
        votes = "approval_id, version, voter, actor, actor_source, type, detail, at"
        types = {"approved": "approve", "modified": "modify", "rejected": "reject", "escalated": "escalate"}
        with cursor.copy(f"COPY interlock.decision ({votes}) FROM STDIN") as copy:
            for name, one in rows:
                if one.end in types:
                    version = 2 if one.end == "modified" else 1
                    copy.write_row((name, version, f"token:{one.by}", one.by, "token", types[one.end], "{}", decided(one)))
        with cursor.copy("COPY interlock.shown (approval_id, version, actor, actor_source, at) FROM STDIN") as copy:
            for name, one in rows:
                if one.looked is not None and one.end in types:
                    copy.write_row((name, 1, one.by, "token", decided(one) - timedelta(seconds=one.looked)))
        reviewed = "approval_id, status, opened_at, reviewer, reviewer_source, reviewed_at"
        with cursor.copy(f"COPY interlock.review ({reviewed}) FROM STDIN") as copy:
            for number, (_, status, at) in enumerate(reviews):
                who = ("alice", "token", at + timedelta(hours=1)) if status != "open" else (None, None, None)
                copy.write_row((f"f{number:031x}", status, at, *who))


def _reviews(tool: str, accepted: int, flagged: int, still: int) -> list[tuple[str, str, datetime]]:
    statuses = ["accepted"] * accepted + ["flagged"] * flagged + ["open"] * still
    return [(tool, status, NOW - timedelta(days=9)) for status in statuses]


def _approval(name: str, one: Question, rules: str) -> tuple[Any, ...]:
    status = "approved" if one.end == "modified" else one.end
    version = 2 if one.end == "modified" else 1
    ended = None if status == "pending" else decided(one)
    thread = f"t{int(name, 16) % 100}"
    key = ("pre_execution", status, one.tool, ARGS, "h", ARGS, "s", 1, 1, rules, version, "1", one.asked, ended)
    return (name, thread, name, "c", *key)


def decided(one: Question) -> datetime:
    return one.asked + timedelta(seconds=one.took)


def test_the_numbers_are_right_and_so_is_the_advice(counted: tuple[Cli, list[Question]], tmp_path: Path) -> None:
    cli, made = counted
    told = cli("stats", "--json").expect(0).json
    check_numbers(told, made)
    assert {(one["kind"], one["about"].split()[0]) for one in told["advice"]} == ADVISED
    words = {one["kind"]: one["text"] for one in told["advice"]}
    assert "approved 3000 of 3000" in words["loosen"] and "adds latency and no safety" in words["loosen"]
    assert "3 of 20 reviews flagged" in words["ask_again"]
    assert next(row for row in told["rules"] if row["asked"] == 12 and row["approved"] == 12)["approved_share"] is None
    check_rule(cli, next(one["rule"] for one in told["advice"] if one["kind"] == "loosen"), tmp_path)
    table = cli("stats").expect(0).stdout
    assert "3000" in table and "this gate adds latency" in table and "bob (token)" in table
    for file in ("picture.png", "picture.svg"):
        cli("stats", "--plot", file).expect(0)
    assert (cli.cwd / "picture.png").read_bytes().startswith(b"\x89PNG") and "</svg>" in (cli.cwd / "picture.svg").read_text()
    assert cli("stats", "--plot", "picture.png", "--json").expect(6).json["error"]["code"] == "file_exists"
    assert cli("stats", "--plot", "picture.gif", "--json").expect(2).json["error"]["code"] == "bad_file"


def check_numbers(told: dict[str, Any], made: list[Question]) -> None:
    """Counted a second time, from the list."""
    groups: dict[tuple[str | None, str | None], list[Question]] = defaultdict(list)
    for one in made:
        groups[one.tool, one.rule].append(one)
        groups[None, None].append(one)
    rows = {(row["tool"], row["rule"]): row for row in [*told["rules"], told["overall"]] if row["asked"]}
    assert rows.keys() == groups.keys()
    for key, questions in groups.items():
        row, ends = rows[key], Counter(one.end for one in questions)
        counts = {end: row["waiting" if end == "pending" else end] for end in ends}
        assert (row["asked"], counts) == (len(questions), dict(ends))
        took = sorted(one.took for one in questions if one.end in {"approved", "modified", "rejected"})
        if len(took) > 1:
            assert row["seconds_to_decision"]["median"] == pytest.approx(statistics.median(took), abs=1e-3)
            assert row["seconds_to_decision"]["p90"] == pytest.approx(statistics.quantiles(took, n=10, method="inclusive")[8], abs=1e-3)
        voted = [one for one in questions if one.end in {"approved", "modified", "rejected", "escalated"}]
        assert row["decisions"] == len(voted)
        assert row["not_shown_before"] == sum(one.looked is None for one in voted)
        assert row["faster_than_read"] == sum((one.took if one.looked is None else one.looked) < READING for one in voted)
        assert (row["streak"], row["longest_streak"]) == streaks(voted)
    people = {row["operator"]: row for row in told["operators"]}
    assert people.keys() == {"alice", "bob", "carol"}
    for name, row in people.items():
        voted = [one for one in made if one.by == name and one.end in {"approved", "modified", "rejected", "escalated"}]
        assert (row["decisions"], row["streak"], row["longest_streak"]) == (len(voted), *streaks(voted))


def streaks(voted: list[Question]) -> tuple[int, int]:
    longest = now = 0
    for one in sorted(voted, key=decided):
        now = now + 1 if one.end == "approved" else 0
        longest = max(longest, now)
    return now, longest


def check_rule(cli: Cli, rule: str, tmp_path: Path) -> None:
    """What is advised is a rule that the policy takes, and that lets those calls run and no others."""
    file = tmp_path / "policy.toml"
    file.write_text(rule + POLICY)
    for environment, verdict in (("staging", "pre_approve"), ("production", "ask")):
        args = json.dumps({"project_id": "shop", "version": "1", "environment": environment})
        assert cli("policy", "explain", "deploy_code", args, "--json").expect(0).json["verdict"]["verdict"] == verdict


def test_without_matplotlib_it_says_what_to_install(cli: Cli, tmp_path: Path) -> None:
    hidden = tmp_path / "hidden"
    (hidden / "matplotlib").mkdir(parents=True)
    (hidden / "matplotlib/__init__.py").write_text("raise ImportError('not here')")
    path = f"{hidden}:{cli.environment['PYTHONPATH']}"
    refused = cli("stats", "--plot", "x.png", "--json", environment={"PYTHONPATH": path}).expect(2)
    assert "pip install" in refused.json["error"]["remedy"]
    assert cli("stats").expect(0).stdout.startswith("Nobody was asked")


def test_who_was_shown_a_question_is_on_the_record_once(agent: Any) -> None:
    agent.start(call("transfer", {"to": "bob", "amount": 5}), say("Paid."))
    for _ in range(2):
        agent("show", "t", "--as", "ada", expect=0)
    agent("show", "t", "--as", "eve", expect=0)
    shown = [(event["actor"], event["payload"]["version"]) for event in agent.events() if event["kind"] == "approval_shown"]
    assert shown == [("ada", 1), ("eve", 1)]
    agent("approve", "t", "--as", "ada", expect=0)
    counted = agent("stats", expect=0)
    assert (counted["overall"]["decisions"], counted["overall"]["shown_before"]) == (1, 1)
    assert counted["operators"][0]["operator"] == "ada" and counted["advice"] == []
