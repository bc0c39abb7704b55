"""What a shell offers when a person presses Tab. It is quick and says nothing: where no database answers, nothing is offered."""

import re
from collections.abc import Callable, Iterator

from graph.settings import load_settings
from memory.text import escape

SHIPPED = ("create_ticket", "deploy_code", "read_database")  # without loading them
PLAIN = re.compile(r"[\w@%+:,./-]+", re.ASCII)  # what no shell takes for more than a word; names may come from others


def offering(*kinds: str) -> Callable[[str], list[tuple[str, str]]]:
    def complete(incomplete: str) -> list[tuple[str, str]]:
        return [(name, about) for kind in kinds for name, about in _named(kind) if name.startswith(incomplete) and PLAIN.fullmatch(name)]

    return complete


def tool_names(incomplete: str) -> list[str]:
    """The shipped ones, and those that were asked about already: to look at a user's own module would load it."""
    known = sorted({*SHIPPED, *(name for name, _ in _named("tool"))})
    return [name for name in known if name.startswith(incomplete) and PLAIN.fullmatch(name)]


def _named(kind: str) -> Iterator[tuple[str, str]]:
    try:
        from graph.app import offered

        yield from ((name, escape(about)) for name, about in offered(load_settings(), kind))
    except Exception:  # noqa: BLE001 - between two keys there is nobody to tell
        return


threads, approvals, threads_and_approvals = offering("thread"), offering("approval"), offering("thread", "approval")
operators = offering("operator")
