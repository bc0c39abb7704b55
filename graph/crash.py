"""Named points at which a test may end this process at once, as a power cut would, or freeze it. Otherwise they cost one look-up.

_INTERLOCK_CRASH_POINT=NAME or NAME:N kills at the first, or the N-th, arrival; NAME:N:STOP freezes there, NAME:N:INT interrupts as
Ctrl-C does. The underscore says that this is no setting.
"""

import os
import signal

_arrivals: dict[str, int] = {}


def reach(point: str) -> None:
    armed = os.environ.get("_INTERLOCK_CRASH_POINT")
    if not armed:
        return
    name, number, how = (*armed.split(":"), "", "")[:3]
    if name == point:
        _arrivals[point] = _arrivals.get(point, 0) + 1
        if _arrivals[point] == int(number or 1):
            os.kill(os.getpid(), signal.Signals[f"SIG{how or 'KILL'}"])
