"""Files that a user asks for: there in full or not at all, readable by their owner only, and never in place of another by surprise."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from memory.errors import RefusedError, UsageError


@contextlib.contextmanager
def writing(path: Path, *, force: bool) -> Iterator[TextIO]:
    """A file that stands at `path` once the block ends well. Raises RefusedError where there is one already."""
    _refuse_if_there(path, force=force)
    try:
        number, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise _cannot_write(path, error) from error
    partial = Path(name)
    try:
        with open(number, "w", encoding="utf-8", newline="\n") as file:  # noqa: PTH123 - it is open already
            yield file
            file.flush()
            os.fsync(file.fileno())
        _refuse_if_there(path, force=force)
        partial.replace(path)
    except OSError as error:
        raise _cannot_write(path, error) from error
    finally:
        partial.unlink(missing_ok=True)


def _refuse_if_there(path: Path, *, force: bool) -> None:
    if path.exists() and not path.is_file():
        raise UsageError(f"{str(path)!r} is no file.", remedy="Name a file.", code="bad_file")
    if (path.exists() or path.is_symlink()) and not force:
        raise RefusedError(f"There is a file {str(path)!r} already.", remedy="Name another, or use --force.", code="file_exists")


def _cannot_write(path: Path, error: OSError) -> UsageError:
    return UsageError(f"{str(path)!r} cannot be written: {error.strerror}.", remedy="Name a file in a folder of yours.", code="bad_file")
