"""`interlock graph`: what is drawn is what is built, and what the documents show."""

import re
from pathlib import Path
from typing import Any

from graph import drawing
from graph.build import build

ROOT = Path(__file__).parents[2]


def test_what_is_drawn_is_what_is_built() -> None:
    ports: Any = None  # nodes use them when they run
    built = build(ports).compile().get_graph()
    drawn = {(before, after) for before, after, _ in drawing.EDGES}
    assert drawn <= {(edge.source, edge.target) for edge in built.edges}
    assert {name for edge in drawn for name in edge} == set(built.nodes) == set(drawing.PLACES)


def test_the_architecture_shows_the_same_diagram() -> None:
    text = (ROOT / "docs/architecture.md").read_text()
    shown = re.findall(r"```mermaid\n(.*?)\n```", text, re.DOTALL)
    assert drawing.mermaid() in shown


def test_the_picture_is_a_picture() -> None:
    assert drawing.png().startswith(b"\x89PNG\r\n")
