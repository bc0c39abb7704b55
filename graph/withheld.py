"""Tokens, addresses with passwords and keys, taken out of the environment by the command line before anything else is loaded.

No tool, library or child process finds them there; whoever has a right to one gets it from the settings.
"""

import os

NAMES = (
    "GITHUB_TOKEN",
    "INTERLOCK_ANALYTICS_URL",
    "INTERLOCK_DATABASE_DIRECT_URL",
    "INTERLOCK_DATABASE_URL",
    "INTERLOCK_OPERATOR_TOKEN",
    "INTERLOCK_QDRANT_API_KEY",
    "OPENAI_API_KEY",
)
WITHHELD: dict[str, str] = {}


def withhold() -> None:
    WITHHELD.update((name, os.environ.pop(name)) for name in NAMES if name in os.environ)
