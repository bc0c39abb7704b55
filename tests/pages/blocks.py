"""The blocks of the documents, and what becomes of each: tests/e2e/test_documents.py does what they say, in their order.

A comment that no reader sees, `<!-- check: … -->` right before a block, says what it is where that is not plain:

    file NAME                     a file that the reader writes
    printed by COMMAND            what an earlier command prints, but for times, ids and names
    with WHAT                     commands, after what the reader is supposed to have was made ready (GIVEN in test_documents.py)
    each after make demo          commands, each of them after another `make demo`
    not run, REASON: tests/FILE   commands that are tried in that test instead
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"(?:^<!-- check: (?P<note>.*?) -->\n)?^```(?P<kind>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
NOTE = re.compile(r"file [\w.-]+|printed by .+|with .+|each after make demo|not run, [^:]+: (?P<instead>tests/[\w./]+)")
RUN = {"console", "python"}
SHOWN = {"json", "toml", "yaml", "ini", "mermaid", ""}  # nothing that is typed; "sh" is a file, or it is console
TYPED = re.compile(r"^(?:\$ |(?:export|interlock|make|pip|psql|pg_\w+|python3?|docker|cat|chmod) )", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    note: str
    kind: str
    text: str

    @property
    def excused(self) -> bool:
        return self.note.startswith("not run")

    @property
    def done(self) -> bool:
        """Commands, or a program: something that the test runs."""
        return self.kind in RUN and not self.excused and not self.note.startswith("file ")

    @property
    def commands(self) -> list[str]:
        lines = self.text.splitlines()
        assert all(line.startswith("$ ") for line in lines), f"a console block shows something else than commands:\n{self.text}"
        return [line.removeprefix("$ ") for line in lines]


def blocks(document: Path) -> list[Block]:
    text = document.read_text()
    found = [Block(one["note"] or "", one["kind"], one["text"]) for one in BLOCK.finditer(text)]
    assert len(found) == len(re.findall("^```", text, re.MULTILINE)) / 2, f"{document.name}: a block is not closed"
    return found


def faults(document: Path) -> Iterator[str]:
    """Blocks of which nobody knows whether they are true: neither run, nor a file, nor excused by a test that exists."""
    for block in blocks(document):
        where = f"{document.name}, {block.kind or 'plain'} block {block.text.splitlines()[0]!r}"
        known = NOTE.fullmatch(block.note)
        if block.note and not known:
            yield f"{where}: {block.note!r} is no note that is understood"
        elif known and known["instead"] and not (ROOT / known["instead"]).is_file():
            yield f"{where}: there is no {known['instead']}"
        elif block.kind not in RUN | SHOWN and not block.note:
            yield f"{where}: is it a file, is it run, or who tries it instead?"
        elif block.kind in SHOWN and not block.note and TYPED.search(block.text):
            yield f"{where}: commands stand in console blocks"
        elif block.kind == "console" and block.done:
            assert block.commands
