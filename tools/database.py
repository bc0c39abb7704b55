"""read_database: one query on the analytics database, back as a table that is plain text.

It runs at once, without a person: the database itself keeps it from changing anything and from reading more than its account
may (memory/postgres/analytics.py). What comes back was written by others; it is shown so that no character of it hides,
moves other text, or passes for a line of the table.
"""

from collections.abc import Iterator, Sequence
from typing import Annotated

from langchain_core.tools import BaseTool, ToolException
from pydantic import Field

from memory.analytics import Analytics, QueryError, Table
from memory.errors import InterlockError
from memory.text import escape
from tools.spec import tool

TIMEOUT = 45  # seconds; the database gives up earlier, unless it does not answer at all
MOST_ROWS = 200
LONGEST_CELL = 300  # characters
WIDEST = 40  # what a column is padded to
LONGEST_TABLE = 7000  # characters; below what the model is shown of any result, so that nothing is cut out of the middle
SHORT = str.maketrans({"\n": "\\n", "\r": "\\r", "\t": "\\t"})


def database_tools(analytics: Analytics | None) -> list[BaseTool]:
    @tool(is_critical=False, idempotent=True, timeout=TIMEOUT)
    async def read_database(sql: Annotated[str, Field(min_length=1, max_length=20_000)]) -> str:
        """Read from the analytics database (PostgreSQL) with one SELECT statement. Nothing can be changed with it.

        information_schema.tables and information_schema.columns tell what there is.
        """
        if analytics is None:
            raise ToolException("There is no analytics database here.")
        try:
            return as_text(await analytics.query(sql, most=MOST_ROWS))
        except QueryError as error:
            raise ToolException(_visible(str(error))) from error
        except InterlockError as error:
            raise ToolException(f"{error.message} {error.remedy}".strip()) from error

    return [read_database]


def as_text(table: Table) -> str:
    """NULL stands for itself, and texts that could be taken for it, or for nothing, stand in quotes."""
    if not table.columns:
        return f"({len(table.rows)} rows without columns)"
    names = [_cut(_visible(name)) for name in table.columns]
    rows = [[_cell(value) for value in row] for row in table.rows]
    widths = [min(WIDEST, max(map(len, column))) for column in zip(names, *rows, strict=True)]
    head = [_line(names, widths), _line(["-" * width for width in widths], widths)]
    body = list(_fitting((_line(row, widths) for row in rows), LONGEST_TABLE - sum(map(len, head))))
    return "\n".join([*head, *body, _count(len(body), more=table.more or len(body) < len(rows))])


def _count(shown: int, *, more: bool) -> str:
    rows = "1 row" if shown == 1 else f"{shown} rows"
    return f"(the first {rows}; there are more: ask for fewer columns, aggregate, or use LIMIT and OFFSET)" if more else f"({rows})"


def _fitting(lines: Iterator[str], room: int) -> Iterator[str]:
    """At least one, so that even a huge row shows what it is like."""
    for number, line in enumerate(lines):
        room -= len(line) + 1
        if room < 0 and number:
            return
        yield line


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return _cut("  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip(), LONGEST_TABLE // 3)


def _cell(value: str | None) -> str:
    if value is None:
        return "NULL"
    shown = _cut(_visible(value))
    return f"'{shown}'" if shown.strip(" ") in {"", "NULL"} else shown


def _cut(text: str, limit: int = LONGEST_CELL) -> str:
    return text if len(text) <= limit else f"{text[:limit]}[… {len(text) - limit} more]"


def _visible(text: str) -> str:
    return escape(text.translate(SHORT))
