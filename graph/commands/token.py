"""The operator's token, taken out of the environment. Import this before all else: no tool, library or child process may find it."""

import os

OPERATOR_TOKEN = os.environ.pop("INTERLOCK_OPERATOR_TOKEN", None)
