"""The command that draws the graph."""

from pathlib import Path
from typing import Annotated

import typer

from graph import screen
from graph.commands.options import Force, Json
from graph.console import Commands, Shown, present
from memory.errors import RefusedError, UsageError

commands = Commands()


@commands.command()
def graph(
    mermaid: Annotated[bool, typer.Option("--mermaid", help="As the text of a Mermaid diagram; the default.")] = False,
    png: Annotated[Path | None, typer.Option("--png", metavar="FILE", help="As a picture. No network is used.")] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Draw the graph: its nodes, and what leads from one to the other.

    Example: interlock graph --mermaid
    """

    def work() -> Shown:
        from graph import drawing

        text = drawing.mermaid()
        if png is None:
            return Shown({"mermaid": text}, text)
        if mermaid:
            raise UsageError("Say one of --mermaid and --png.", code="usage")
        if png.exists() and not force:
            raise RefusedError(f"There is a file {str(png)!r} already.", remedy="Name another, or use --force.", code="file_exists")
        picture = drawing.png()
        try:
            png.write_bytes(picture)
        except OSError as error:
            raise UsageError(f"{str(png)!r} cannot be written: {error.strerror}.", code="bad_file") from None
        return Shown({"png": str(png), "mermaid": text}, f"The graph is drawn in {screen.escape(str(png))}")

    present(json, work)
