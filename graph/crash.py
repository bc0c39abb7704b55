"""Named points at which a test may end this process at once, as a power cut would, or freeze it. Otherwise they cost one look-up.

CRASH_POINT=NAME or NAME:N kills at the first, or the N-th, arrival; NAME:N:STOP freezes there.
"""

import os
import signal

_arrivals: dict[str, int] = {}


def reach(point: str) -> None:
    armed = os.environ.get("CRASH_POINT")
    if not armed:
        return
    name, number, how = (*armed.split(":"), "", "")[:3]
    if name == point:
        _arrivals[point] = _arrivals.get(point, 0) + 1
        if _arrivals[point] == int(number or 1):
            os.kill(os.getpid(), signal.SIGSTOP if how == "STOP" else signal.SIGKILL)
