"""Asks the person at a terminal, question by question. Nothing is decided by silence or by the end of input."""

import asyncio
import contextlib
import json
import os
import pydoc
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from graph import screen, view
from graph.answers import read_value
from graph.console import colours
from graph.deciding import decide
from memory.approvals import Approval, Ballot, masked
from memory.errors import InterlockError, UsageError
from memory.people import Identity
from memory.text import clean

if TYPE_CHECKING:
    from graph.app import App

VIEW = "This question about {tool} is longer than the screen: [v]iew it page by page, "
CHOICES = {
    "pre_execution": "[a]pprove, [m]odify, [r]eject, [s]top, [u]ndo what was done, [e]scalate, or [l]eave it waiting? ",
    "compensation": "[a]pprove, [r]eject this undo, [s]top undoing, [e]scalate, or [l]eave it waiting? ",
    "unknown_outcome": "[d]one, re[t]ry, a[b]andon, or [l]eave it waiting? ",
}
WORDS = {
    "a": "approve", "m": "modify", "r": "reject", "s": "stop", "e": "escalate", "d": "done", "t": "retry", "b": "abandon",
    "l": "leave", "u": "undo", "v": "view",
}  # fmt: skip
ALLOWED = {
    "pre_execution": ["approve", "modify", "reject", "stop", "undo", "escalate", "leave"],
    "compensation": ["approve", "reject", "stop", "escalate", "leave"],
    "unknown_outcome": ["done", "retry", "abandon", "leave"],
}
MEANS = {
    "approve": "it runs exactly as shown",
    "modify": "it runs with other arguments, which you are asked for",
    "reject": "it does not run; the agent is told why, and goes on",
    "stop": "it does not run, and the thread ends",
    "undo": "it does not run, what the thread did is undone as far as that can be, and the thread ends",
    "escalate": "people of the next tier are asked instead",
    "done": "it happened; you are asked what came out",
    "retry": "it did not happen: it is done now",
    "abandon": "it is given up, and the agent is told that nobody knows",
    "leave": "the question stays; anybody may answer it later",
    "view": "the whole question in a pager",
}
OF_AN_UNDO = {"reject": "this undo is left out, and the others go on", "stop": "nothing more is undone"}


async def ask(application: "App", thread_id: str, me: Identity, tier: int | None) -> bool:
    """True if something was decided, so that the thread can go on. `tier` is the one that this person's token gives them."""
    for approval in [one for one in await application.approvals.of_thread(thread_id) if one.status == "pending"]:
        text = screen.question(view.question(approval), width=shutil.get_terminal_size().columns)
        _say("\n" + screen.headed(text, on=colours(sys.stderr)) + "\n")
        await application.approvals.shown([approval], me)
        while True:
            ballot = await _ballot(approval, me, text)
            if ballot is None:
                break
            try:
                decided = await decide(application, approval, ballot, tier=tier)
                if decided.status != "pending":
                    return True
                _say(f"Your vote is recorded: {decided.have} of {decided.required}.")
                break
            except InterlockError as error:
                _say(screen.escape(error.message))
                if error.exit_code == 5:
                    return True
    return False


async def _ballot(approval: Approval, me: Identity, text: str) -> Ballot | None:
    kind = approval.kind if approval.kind in CHOICES else "pre_execution"
    _forget_what_was_typed()
    while True:
        choices = (VIEW.format(tool=screen.escape(approval.tool)) if _is_longer_than_the_screen(text) else "") + CHOICES[kind]
        word = await _line(screen.prose(choices.rstrip(), shutil.get_terminal_size().columns) + " ")
        if word is None:
            return None
        choice = WORDS.get(word, word)
        if choice == "view":
            await asyncio.to_thread(pydoc.pager, text)
            continue
        if word in {"?", "h", "help"}:
            _say(_help(kind))
            continue
        if choice not in ALLOWED[kind]:
            _say(f"{screen.escape(word)!r} is none of these. Nothing was decided.")
            continue
        if choice == "leave":
            return None
        return await _made(choice, approval, me)


def _help(kind: str) -> str:
    means = {**MEANS, **(OF_AN_UNDO if kind == "compensation" else {})}
    columns = shutil.get_terminal_size().columns
    told = [textwrap.fill(f"  {word:<10}{means[word]}", columns, subsequent_indent=" " * 12) for word in [*ALLOWED[kind], "view"]]
    return "\n".join(["A letter or the whole word; nothing else decides.", *told])


async def _made(choice: str, approval: Approval, me: Identity) -> Ballot | None:
    seen = approval.version
    match choice:
        case "approve" | "retry" | "abandon" | "escalate":
            return Ballot(choice, me, "", {}, seen)
        case "done":
            text = await _line("What came out? ", keep=True)
            return Ballot("done", me, "", {"text": clean(text)}, seen) if text else None
        case "modify":
            args = await _arguments(approval.args, approval.rules.get("secret", []))
            return Ballot("modify", me, "", {"args": args}, seen) if args else None
    comment = await _line("Why? ", keep=True)
    if comment is None:
        return None
    return Ballot("reject", me, clean(comment), {"then": {"stop": "stop", "undo": "compensate"}.get(choice, "continue")}, seen)


async def _arguments(before: dict[str, Any], secret: Sequence[str]) -> dict[str, Any] | None:
    new, shown = dict(before), masked(before, secret)
    _say("An empty line keeps the value in brackets.")
    for name, value in before.items():
        prompt = f"{screen.escape(name)} [{screen.escape(json.dumps(shown[name], ensure_ascii=False))}]: "
        text = await _line(prompt, keep=True, echo=name not in secret)
        if text is None:
            return None
        if text:
            try:
                new[name] = read_value(text, value)
            except UsageError as error:
                _say(f"{screen.escape(error.message)} Nothing was decided.")
                return None
    _say("It would run with " + screen.escape(json.dumps(masked(new, secret), ensure_ascii=False, indent=2), lines=True))
    _forget_what_was_typed()
    return new if await _line("[y]es, or anything else to leave it waiting? ") in {"y", "yes"} else None


async def _line(prompt: str, *, keep: bool = False, echo: bool = True) -> str | None:
    """None at the end of input."""
    with contextlib.nullcontext() if echo else _unseen():  # before the prompt: who types at once isn't echoed either
        print(prompt, end="", file=sys.stderr, flush=True)  # noqa: T201 - this is the terminal
        text = await _read()
    if not echo:
        _say("")
    return text if keep or text is None else text.lower()


async def _read() -> str | None:
    line = b""
    while not line.endswith(b"\n"):
        await _typed()
        piece = os.read(sys.stdin.fileno(), 4096)  # unbuffered: what is typed ahead stays where it can be forgotten
        if not piece:
            return None
        line += piece
    return line.decode(errors="replace").strip()


@contextlib.contextmanager
def _unseen() -> Iterator[None]:
    """What is typed is not echoed."""
    import termios

    before = termios.tcgetattr(sys.stdin.fileno())
    quiet = [*before]
    quiet[3] &= ~termios.ECHO
    termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, quiet)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, before)


def _forget_what_was_typed() -> None:
    """What was typed before the question was on the screen is no answer to it."""
    with contextlib.suppress(ImportError, OSError):
        import termios

        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


async def _typed() -> None:
    """Until a line or the end of input is there. No thread waits in a read, because Ctrl-C could not end it."""
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(sys.stdin, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(sys.stdin)


def _is_longer_than_the_screen(text: str) -> bool:
    size = shutil.get_terminal_size()
    return sum(1 + screen.columns_of(line) // size.columns for line in text.split("\n")) > size.lines - 3


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # noqa: T201 - this is the terminal
