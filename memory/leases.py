"""The right of one process to drive a thread, and the table of those that this process holds.

The saver cannot see what a node sets in its context, so it finds the fence here, by thread.
"""

import os
import socket
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from memory.errors import StaleError

NODE = "node@"  # before the owner's name where a node took the lease; the saver's guard in the database knows it too


@dataclass(frozen=True, slots=True)
class Lease:
    """`epoch` is the fence: it grows with each holder, and a write with an older one is refused.

    `sure`: the holder before gave it up or is certainly dead, so none of its effects can still be on the way.
    """

    thread_id: str
    owner: str
    epoch: int
    sure: bool = True

    @property
    def of_node(self) -> bool:
        """Taken by a node for as long as it works, under a server that drives by itself."""
        return self.owner.startswith(NODE)


class LeaseLostError(StaleError):
    """Another process drives the thread now; what this one does next must not count."""

    code = "lease_lost"


held: dict[str, Lease] = {}


def owner_name() -> str:
    """`host:pid:born:place`. Place is the kernel's boot and process namespace, in which `pid` and `born` mean something."""
    return _name_of(os.getpid())


@cache
def _name_of(pid: int) -> str:
    return f"{socket.gethostname()}:{pid}:{_born(pid) or ''}:{_place()}"


def is_dead(owner: str) -> bool:
    """True only where it is certain: the process was of this machine and namespace and is no more (or its pid is another's)."""
    return _lives(owner) is False


def is_alive(owner: str) -> bool:
    """True only where it is certain: the process is of this machine and namespace. A frozen one counts: it may go on."""
    return _lives(owner) is True


def _lives(owner: str) -> bool | None:
    """None where it cannot be told from here."""
    try:
        _, pid, born, place = owner.rsplit(":", 3)
        if not born or not place or place != _place():
            return None
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except (ValueError, OSError):
        return None
    now = _born(int(pid))
    return None if now is None else now == born


def _born(pid: int) -> str | None:
    """The start of a process in clock ticks since boot; empty for a zombie, None if the system does not tell."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except (OSError, IndexError):
        return None
    return "" if fields[0] in {"Z", "X"} else fields[19]


def _place() -> str:
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot[:8]}-{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:
        return ""
