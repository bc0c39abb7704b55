"""Who sits at this command. The account of the effective uid, never what the environment says."""

import os
import socket

from memory.errors import RefusedError
from memory.people import Identity
from memory.text import clean


def account() -> str:
    try:
        import pwd

        name = pwd.getpwuid(os.geteuid()).pw_name
    except (ImportError, KeyError):
        name = f"uid-{os.geteuid()}" if hasattr(os, "geteuid") else "user"
    return f"{name}@{socket.gethostname()}"


def acting(*, claimed: str | None, embedded: bool) -> Identity:
    """Who has no token. `os` counts only on the embedded server: a database elsewhere cannot know whose account this is."""
    if claimed is not None:
        return Identity(named(claimed), "claimed")
    return Identity(account(), "os" if embedded else "claimed")


def named(name: str) -> str:
    text = clean(name).strip()
    if not text or len(text) > 200 or not text.isprintable():
        raise RefusedError(f"{name!r} is no name: it must be printable, and have 1 to 200 characters.", code="bad_name")
    return text
