"""The command `interlock`, put together from graph/commands. Standard output is the answer; everything else goes to standard error."""

import graph.commands.environment  # noqa: F401  # before all others: see there

# isort: split
import json
import os
import sys

import typer

from graph.commands import (
    checks,
    databases,
    decisions,
    drawings,
    memories,
    operators,
    policies,
    record,
    retention,
    reviews,
    statistics,
    threads,
    working,
)
from graph.console import Commands
from memory.errors import EXIT_CODES, InterruptedByPersonError

app = Commands(
    name="interlock", no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None,
    help="An agent that stops before critical operations and waits for a person.\n\n"
    'Example: interlock start "deploy shop 1.4.2", then interlock inbox, then interlock approve APPROVAL.',
    epilog="Exit codes:\n\n\b\n" + "\n".join(f"{code:>3}  {meaning.partition(';')[0]}" for code, meaning in EXIT_CODES.items()),
)  # fmt: skip
for room in (threads, decisions, working, record, retention, statistics, checks, drawings):
    app.add_typer(room.commands)
app.add_typer(operators.commands, name="operator")
app.add_typer(policies.commands, name="policy")
app.add_typer(reviews.commands, name="review")
app.add_typer(memories.commands, name="memory")
app.add_typer(databases.commands, name="db")


def main() -> None:
    """The command. A mistake on the command line is told in JSON too where JSON is wanted."""
    try:
        raise SystemExit(app(standalone_mode=False) or 0)
    except (typer.Abort, KeyboardInterrupt):
        raise SystemExit(InterruptedByPersonError.exit_code) from None
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(141) from None
    except Exception as error:
        message = getattr(error, "format_message", None)  # typer keeps the class of its own mistakes to itself
        if message is None:
            raise
        if "--json" in sys.argv:
            print(json.dumps({"error": {"code": "usage", "message": message()}}))  # noqa: T201
        else:
            error.show()  # type: ignore[attr-defined]
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
