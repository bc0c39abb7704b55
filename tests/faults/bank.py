"""A payment by each kind of tool, and a judge of what became of it, from outside: files, rows, exit codes, --json."""

from contextlib import suppress
from dataclasses import dataclass, field
from subprocess import TimeoutExpired
from typing import Any

import psycopg
from bench.cli import Cli, Environment, Result
from bench.openai_server import OpenAIServer, by_turn, call, say
from bench.tools_for_tests import TRANSFERS
from bench.world import World

THREAD = "payment"
KINDS = ("transfer", "transfer_keyed", "transfer_checked", "transfer_tx", "note_add")
NOTHING_DECLARED = {"transfer", "note_add"}
KILLED = -9
WAITING = 3


@dataclass
class Bank:
    kind: str
    cli: Cli
    server: OpenAIServer
    world: World
    database_url: str
    may_be_alive: bool = False  # a process that is only frozen may still act, so a check proves less
    unknown: set[str] = field(default_factory=set)  # ids of the questions what became of a call
    crashes: int = 0
    log: list[Result] = field(default_factory=list)

    def __post_init__(self) -> None:
        args: dict[str, Any] = {"text": "5 to bob"} if self.kind == "note_add" else {"to": "bob", "amount": 5}
        self.server.always(by_turn(call(self.kind, args), say("Done.")))
        if self.kind == "transfer_tx":
            with psycopg.connect(self.database_url, autocommit=True) as connection:
                connection.execute(TRANSFERS)

    def run(self, *words: str, environment: Environment | None = None) -> Result:
        return self._logged(self.cli(*words, "--json", environment=environment))

    def _logged(self, result: Result) -> Result:
        self.log.append(result)
        self.crashes += result.exit_code == KILLED
        return result

    def killed(self, *words: str, environment: Environment) -> None:
        """The command dies where it was told to, or the test proves nothing."""
        self.run(*words, environment=environment).expect(KILLED)

    def killed_after(self, seconds: float, *words: str) -> Result:
        """The command, unless it ends before."""
        process = self.cli.spawn(*words, "--json")
        with suppress(TimeoutExpired):
            process.popen.wait(seconds)
        process.kill()
        return self._logged(process.wait())

    def finish(self) -> None:
        """Resumes and decides as a person does who looks at the world first, until the thread has ended."""
        for _ in range(6):
            shown = self.run("resume", THREAD)
            if shown.exit_code == 0:
                return
            shown.expect(WAITING)
            inbox = self.run("inbox").expect(0).json["pending"]
            assert [one["approval_id"] for one in inbox] == [one["approval_id"] for one in shown.json["pending"]]
            for one in inbox:
                self._answer(one)
        raise AssertionError("it does not end")

    def _answer(self, one: dict[str, Any]) -> None:
        if one["kind"] == "unknown_outcome":
            self.run("approve", one["approval_id"]).expect(6)  # to approve says nothing of what happened
        decided = self.run(*self.answer_to(one))
        assert decided.exit_code in {0, WAITING}, decided

    def answer_to(self, one: dict[str, Any]) -> tuple[str, ...]:
        """The command with which a person answers who has looked at the world."""
        if one["kind"] == "pre_execution":
            return "approve", one["approval_id"]
        assert one["kind"] == "unknown_outcome"
        assert self.kind in NOTHING_DECLARED or self.may_be_alive, "a tool that can settle this by itself has asked a person"
        self.unknown.add(one["approval_id"])
        return "resolve", one["approval_id"], *(("--done", self.result) if self.effects else ("--retry",))

    @property
    def unknowns(self) -> int:
        return len(self.unknown)

    @property
    def result(self) -> str:
        return "noted: 5 to bob" if self.kind == "note_add" else "transferred 5 to bob"

    @property
    def effects(self) -> int:
        if self.kind != "transfer_tx":
            return self.world.count(self.kind)
        with psycopg.connect(self.database_url) as connection:
            row = connection.execute("SELECT count(*) FROM public.transfers").fetchone()
        return row[0] if row else 0

    def judge(self) -> dict[str, Any]:
        """Fails on anything that was promised and not held; otherwise what goes into the table."""
        shown = self.run("show", THREAD).expect(0).json
        assert (shown["status"], shown["final_answer"], shown["pending"]) == ("completed", "Done.", [])
        assert self.effects == 1, f"{self.effects} effects"
        execution, = shown["executions"]
        assert (execution["status"], execution["result"]) == ("succeeded", self.result), "the result was lost"
        self._judge_keys(execution["call_key"])
        told = [message for message in self.server.last_request["messages"] if message["role"] == "tool"]
        assert [message["content"] for message in told] == [self.result]
        assert self.server.refusals == [] and self.server.unexpected == [], "the model was sent a history it refuses"
        record = self.run("audit", "--verify").expect(0).json
        assert record["verified"] is True
        self._judge_record(record["events"])
        assert self.run("inbox").json["pending"] == []
        return {
            "kind": self.kind, "crashes": self.crashes, "effects": self.effects, "duplicates": max(0, self.effects - 1),
            "losses": max(0, 1 - self.effects), "unknowns": self.unknowns,
        }  # fmt: skip

    def _judge_keys(self, call_key: str) -> None:
        for name in ("transfer_keyed.keys", "transfer_checked.checks"):
            assert set(self.world.lines(name)) <= {call_key}, "another key on a repetition"
        for line in self.world.lines(f"{self.kind}.attempts") if self.kind in {"transfer_keyed", "transfer_checked"} else []:
            assert line.split()[0] == call_key

    def _judge_record(self, events: list[dict[str, Any]]) -> None:
        kinds = [event["kind"] for event in events]
        settled = [event["payload"]["status"] for event in events if event["kind"] == "execution_resolved"]
        assert kinds.count("execution_succeeded") + settled.count("succeeded") == 1
        assert len(settled) == self.unknowns
        ended = [kind for kind in kinds if kind != "execution_late" or not self.may_be_alive]  # who wakes may tell late news after the end
        assert ended.count("thread_ended") == 1 and ended[-1] == "thread_ended"
        assert kinds.count("execution_unknown") == self.unknowns
        if self.kind != "note_add":
            assert kinds.index("approval_decided") < kinds.index("execution_started")
