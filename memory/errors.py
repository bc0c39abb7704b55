"""The one tree of errors that may reach a user.

    InterlockError                  code         exit code
    ├── UsageError                  usage        2   the command line, a setting, a file of the user
    ├── NotFoundError               not_found    4   no such thread or approval
    ├── ConflictError               conflict     5   already decided, another process drives it, stale
    │   ├── AlreadyDecidedError     already_decided
    │   ├── BusyError               busy
    │   └── StaleError              stale
    ├── RefusedError                refused      6   not permitted, invalid, expired
    ├── UnavailableError            unavailable  7   a service does not answer, or is not ready
    ├── RunFailedError              run_failed   1
    ├── StoppedError                stopped      8   a limit was reached
    └── InterruptedByPersonError    interrupted  130 Ctrl-C, or the system wants the process to end

A driver's error is wrapped once, where it is met, with its cause kept; nothing else is shown to a user.
"""

from collections.abc import Mapping
from typing import Any

# How a command ends, for scripts. The README and docs/reference.md say the same.
EXIT_CODES: Mapping[int, str] = {
    0: "done: completed, rejected or cancelled; a tool that failed is told to the agent, and is seen in `executions`",
    1: "the run failed",
    2: "the command line, or a setting, cannot be used",
    3: "waiting for a person",
    4: "no such thread or approval",
    5: "conflict: already decided, another process drives it, stale",
    6: "refused: not permitted, invalid, expired; or the record does not verify",
    7: "a service is unavailable",
    8: "stopped by a limit",
    130: "interrupted",
    141: "nobody reads the answer any more; what was to be done is done",
}


class InterlockError(Exception):
    """`message` says what is wrong and names the value; `remedy` says what to type or change next.

    `data` are JSON values that join the `error` object of `--json`.
    """

    code = "error"
    exit_code = 1

    def __init__(self, message: str, *, remedy: str = "", code: str = "", **data: Any) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        self.code = code or type(self).code
        self.data = data

    def as_json(self) -> dict[str, Any]:
        more = {"remedy": self.remedy} if self.remedy else {}
        return {"code": self.code, "message": self.message, **more, **self.data}


class UsageError(InterlockError):
    code, exit_code = "usage", 2


class NotFoundError(InterlockError):
    code, exit_code = "not_found", 4


class ConflictError(InterlockError):
    code, exit_code = "conflict", 5


class AlreadyDecidedError(ConflictError):
    code = "already_decided"


class BusyError(ConflictError):
    code = "busy"


class StaleError(ConflictError):
    code = "stale"


class RefusedError(InterlockError):
    code, exit_code = "refused", 6


class UnavailableError(InterlockError):
    code, exit_code = "unavailable", 7


class RunFailedError(InterlockError):
    code, exit_code = "run_failed", 1


class StoppedError(InterlockError):
    code, exit_code = "stopped", 8


class InterruptedByPersonError(InterlockError):
    code, exit_code = "interrupted", 130
