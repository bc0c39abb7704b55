"""What Ctrl-C, a stop by the system and a closed terminal do to a command.

A first SIGTERM or SIGHUP waits for calls that are under way. Ctrl-C, or a second one, gives them up: their outcome is unknown, and people
are asked. Once more, the process ends at once, whatever it was at; the ledger knows what was begun.
"""

import asyncio
import errno
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from graph.console import Session, end_at_once
from graph.stop import Stop
from memory.errors import InterruptedByPersonError

PATIENT = {signal.SIGTERM, signal.SIGHUP}
NUMBERS = (signal.SIGINT, *PATIENT)
NOTICE = "Stopping when the call that is under way has ended; once more gives it up."


@contextmanager
def heeded(session: Session, stop: Stop) -> Iterator[None]:
    """Inside a task, in the main thread. A signal that whoever started us ignores (nohup) stays ignored."""
    task = asyncio.current_task()
    assert task is not None  # noqa: S101 - a coroutine runs in a task
    heed = _Heed(session, stop, task)
    before = {number: signal.getsignal(number) for number in NUMBERS}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, heed.signalled)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Heed:
    def __init__(self, session: Session, stop: Stop, task: "asyncio.Task[Any]") -> None:
        self.session, self.stop, self.task = session, stop, task
        self.loop = asyncio.get_running_loop()
        self.came = 0
        self.given_up = False

    def signalled(self, number: int, _frame: Any) -> None:
        """Runs between two steps of anything; the loop does the rest, if it is not stuck."""
        if self.given_up:
            end_at_once(interrupted(self.stop.thread_id), json_wanted=self.session.json)
        patient = number in PATIENT and self.came == 0
        self.came += 1
        self.given_up = not patient
        if number == signal.SIGHUP:
            _let_go_of_the_terminal()
        self.loop.call_soon_threadsafe(self._drain if patient else self.task.cancel)

    def _drain(self) -> None:
        if self.stop.request():
            self.session.say(NOTICE)
        elif not self.given_up:
            self.given_up = True
            self.task.cancel()


def interrupted(thread_id: str | None) -> InterruptedByPersonError:
    if thread_id is None:
        return InterruptedByPersonError("Interrupted; nothing more was decided.")
    hint = f"Go on with: interlock resume {thread_id}"
    return InterruptedByPersonError("Interrupted; nothing more was decided.", remedy=hint, thread_id=thread_id)


def _let_go_of_the_terminal() -> None:
    """What is printed to a terminal that is gone fails; a tool that prints must not fail for that."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        try:
            gone = os.isatty(stream)
        except OSError as error:
            gone = error.errno == errno.EIO
        if gone:
            with suppress(OSError):
                os.dup2(nowhere, stream)
    os.close(nowhere)
