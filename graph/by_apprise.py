"""The adapter to apprise, which knows how to reach a hundred services. Nothing else imports it, and it is loaded when something is sent.

A URL of it holds secrets: it is shown to nobody, and what apprise says about it is not passed on.
"""

import logging
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from graph.notify import Letter
from memory.errors import UsageError

if TYPE_CHECKING:
    from apprise import Apprise

MISSING = "apprise is not installed: pip install 'interlock-agent[notify]'"


class AppriseSender:
    """Everything here blocks: it is called in threads."""

    def __init__(self, urls: Sequence[str]) -> None:
        self._urls = urls
        self._made: dict[int, Apprise] = {}

    def load(self) -> None:
        """Takes a second or two. Raises nothing: what is wrong is told for each message."""
        for target in range(len(self._urls)):
            self.problem(target)

    def problem(self, target: int) -> str | None:
        """Why a target cannot be used, without its URL."""
        if target >= len(self._urls):
            return "the policy file does not list this target any more"
        try:
            made = self._made.get(target) or _made_of(self._urls[target])
        except ImportError:
            return MISSING
        if made is None:
            return "apprise cannot read this URL"
        self._made[target] = made
        return None

    def send(self, target: int, letter: Letter) -> str | None:
        """None if the service took it; otherwise why not."""
        if problem := self.problem(target):
            return problem
        from apprise import NotifyFormat, NotifyType

        kind: Any = {"warning": NotifyType.WARNING, "failure": NotifyType.FAILURE}.get(letter.weight, NotifyType.INFO)
        try:
            taken = self._made[target].notify(title=letter.title, body=letter.body, notify_type=kind, body_format=NotifyFormat.TEXT)
        except Exception as error:  # noqa: BLE001 - one of a hundred plugins; its text may hold the URL
            return f"apprise raised {type(error).__name__}"
        return None if taken else "the service did not take it"


def _made_of(url: str) -> "Apprise | None":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of its hundred plugins
        import apprise

        logging.getLogger("apprise").propagate = False  # its messages name parts of URLs
        made = apprise.Apprise()
        return made if made.add(url) else None


def refuse_unusable(urls: Sequence[str]) -> None:
    """Raises UsageError for the first URL that cannot be used, by its place in the list."""
    sender = AppriseSender(urls)
    for target, url in enumerate(urls):
        if problem := sender.problem(target):
            message = f"[notify] urls, number {target + 1} ({url.partition(':')[0][:20]}): {problem}."
            raise UsageError(message, remedy="The form of each service: https://appriseit.com/services/", code="bad_policy")
