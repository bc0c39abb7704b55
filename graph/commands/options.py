"""Options and arguments that several commands share."""

from typing import Annotated

import typer

from graph.commands import completing

Json = Annotated[bool, typer.Option("--json", help="Print exactly one JSON document.")]
As = Annotated[str | None, typer.Option("--as", metavar="NAME", help="Act under this name; recorded as claimed.")]
Comment = Annotated[str, typer.Option("--comment", metavar="TEXT", help="Why; kept on the record and told to the agent.")]
Digest = Annotated[
    str | None,
    typer.Option("--digest", metavar="PREFIX", help="Only if its digest still begins so: what you saw is what you decide on."),
]
Detach = Annotated[bool, typer.Option("--detach", help="Do not drive the thread here; whoever resumes it goes on.")]
Force = Annotated[bool, typer.Option("--force", help="Write over a file that is there.")]
HELP_THREAD = "Its name, as `interlock runs` lists it."
HELP_NAME = "Its id, a prefix of 6 or more characters, or a thread with one open approval."
Name = Annotated[str, typer.Argument(metavar="APPROVAL", help=HELP_NAME, autocompletion=completing.approvals)]
Thread = Annotated[str, typer.Argument(metavar="THREAD", help=HELP_THREAD, autocompletion=completing.threads)]
HELP_EITHER = "Its name, or that of an approval."
ThreadOrApproval = Annotated[
    str, typer.Argument(metavar="THREAD", help=HELP_EITHER, autocompletion=completing.threads_and_approvals)
]
