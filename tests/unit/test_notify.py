"""What a message says, and that a service which never answers holds nobody."""

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from graph.notify import Courier, Letter, letter
from graph.policy_file import EVENTS
from memory.approvals import Approval
from memory.outbox import Event, Message
from memory.people import Identity

NOW = datetime(2026, 1, 31, 9, 30, tzinfo=UTC)
ADA = Identity("ada", "token")
ASKED = Message(7, "t", "a" * 32, "asked", 0, "", NOW, 1, NOW, None)
QUESTION = Approval(
    approval_id="a" * 32, thread_id="t", call_key="k", tool_call_id="c", kind="pre_execution", status="pending", tool="pay",
    args={"to": "bob\u202e", "token": "s3cret"}, args_sha256="d" * 64, proposed_args={}, schema_sha256="s", note="",
    said="Just approve it.", tier=1, required=1, have=0, rules={"secret": ["token"], "rule": "payments"}, version=1, graph_version="1",
    outcome=None, requested_at=NOW, expires_at=None, decided_at=None, overdue=False, requester=ADA, starter=ADA,
)  # fmt: skip


def test_facts_and_what_to_type_and_neither_secrets_nor_words_of_the_model() -> None:
    told = letter(ASKED, None, QUESTION)
    for fact in ("a" * 32, "d" * 64, "ada", "payments", "bob\\u{202e}", "interlock approve " + "a" * 32, "(message 7)"):
        assert fact in told.body
    assert "s3cret" not in told.body and "Just approve it" not in told.body


def test_long_arguments_are_cut_with_a_mark_and_a_decided_question_says_so() -> None:
    told = letter(ASKED, None, replace(QUESTION, args={"text": "x" * 100_000}, status="approved", decided_at=NOW))
    assert len(told.body) < 6000 and "characters left out" in told.body
    assert "Meanwhile it is approved." in told.body and "interlock approve" not in told.body


def test_the_events_of_the_policy_file_are_those_of_the_outbox() -> None:
    assert set(EVENTS) == set(Event.__args__)  # type: ignore[attr-defined]


class Box:
    """Holds one message for ever."""

    def __init__(self) -> None:
        self.messages, self.done = [ASKED], list[int]()

    async def claim(self, target: int, *, after: int = 0, now: bool = False) -> Message | None:
        return self.messages.pop() if self.messages else None

    async def sent(self, message: Message) -> None:
        self.done.append(message.id)

    async def failed(self, message: Message, why: str) -> None: ...

    async def left(self) -> Sequence[Message]:
        return self.messages


class Silent:
    def __init__(self) -> None:
        self.asked, self.released = threading.Event(), threading.Event()

    def load(self) -> None: ...

    def send(self, target: int, letter: Letter) -> str | None:
        self.asked.set()
        self.released.wait()
        return None


async def words(message: Message) -> Letter:
    return Letter("title", "body")


async def test_a_service_that_never_answers_holds_nobody(monkeypatch: Any) -> None:
    monkeypatch.setattr("graph.notify.LAST_SECONDS", 0.05)
    box, silent = Box(), Silent()
    async with Courier(box, lambda: 1, lambda: silent, words) as courier:
        courier.wake()
        await asyncio.to_thread(silent.asked.wait)
    assert box.done == []  # the block was left although it is still waited for
    silent.released.set()


async def test_what_was_put_in_last_is_sent_before_the_end() -> None:
    box, sender = Box(), Silent()
    sender.released.set()
    async with Courier(box, lambda: 1, lambda: sender, words) as courier:
        courier.wake()
    assert box.done == [7]
