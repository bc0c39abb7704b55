"""Ports for servers that must be told theirs before they start."""

import random
import socket
from contextlib import suppress


def free_port() -> int:
    """Below those that the system hands out: it gives none of these away before the server has it."""
    chosen = random.Random()  # its own: pytest-randomly seeds the global one alike in all workers
    for port in chosen.sample(range(20_000, 30_000), 100):
        with socket.socket() as one, suppress(OSError):
            one.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is free")
