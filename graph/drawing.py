"""The graph as it is drawn for people. A test compares it with the graph that is built, and with docs/architecture.md.

LangGraph's own drawing shows every way that routing could take from every node; here stand those that a thread does take.
"""

import io
from collections.abc import Mapping
from typing import Any

from memory.errors import UsageError

START, END = "__start__", "__end__"
EDGES = (
    (START, "retrieve_episodes", ""),
    ("retrieve_episodes", "agent_think", ""),
    ("agent_think", "execute_tools", "calls that may run (one Send each)"),
    ("agent_think", "await_human_approval", "only calls that wait"),
    ("agent_think", "agent_think", "no call was usable"),
    ("agent_think", "remember_episode", "an answer"),
    ("execute_tools", "after_tools", "each call has ended"),
    ("after_tools", "await_human_approval", "calls still wait"),
    ("after_tools", "agent_think", "every call is answered"),
    ("await_human_approval", "execute_tools", "approved"),
    ("await_human_approval", "handle_rejection", "rejected, expired, cancelled"),
    ("await_human_approval", "await_human_approval", "another question is next"),
    ("handle_rejection", "agent_think", "the model is told"),
    ("handle_rejection", "await_human_approval", "others still wait"),
    ("handle_rejection", "execute_tools", "others were approved"),
    ("handle_rejection", END, "ended as rejected or cancelled"),
    ("remember_episode", END, ""),
)
PLACES: Mapping[str, tuple[float, float]] = {
    START: (0.5, 6.0), "retrieve_episodes": (0.5, 5.2), "agent_think": (0.5, 4.2), "await_human_approval": (0.86, 2.7),
    "execute_tools": (0.4, 2.7), "after_tools": (0.12, 3.4), "handle_rejection": (0.72, 1.3), "remember_episode": (0.12, 1.3),
    END: (0.42, 0.3),
}  # fmt: skip
COLOURS = {"await_human_approval": "#ffe3a3", "execute_tools": "#cfe3ff", "handle_rejection": "#ffd0cc"}


def mermaid() -> str:
    """The text of a state diagram."""
    lines = [f"    {_state(before)} --> {_state(after)}{f': {label}' if label else ''}" for before, after, label in EDGES]
    return "\n".join(["stateDiagram-v2", *lines])


def png() -> bytes:
    """A picture, made without a network. Raises UsageError where what draws is not installed."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        remedy = "python -m pip install 'interlock-agent[plot]'; --mermaid needs nothing."
        raise UsageError("matplotlib draws the picture, and is not installed.", remedy=remedy, code="missing_extra") from None
    figure = Figure(figsize=(11, 9), dpi=120)
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_axes((0.02, 0.02, 0.96, 0.96))
    axes.set(xlim=(-0.08, 1.12), ylim=(0, 6.3))
    axes.set_axis_off()
    for before, after, label in EDGES:
        _arrow(axes, before, after, label)
    for name, (x, y) in PLACES.items():
        _box(axes, name, x, y)
    made = io.BytesIO()
    canvas.print_figure(made, format="png")
    return made.getvalue()


def _state(name: str) -> str:
    return "[*]" if name in {START, END} else name


def _box(axes: Any, name: str, x: float, y: float) -> None:
    if name in {START, END}:
        axes.plot([x], [y], "o", color="black", markersize=12, fillstyle="full" if name == START else "left")
        return
    box = {"boxstyle": "round,pad=0.5", "facecolor": COLOURS.get(name, "#eeeeee"), "edgecolor": "#444444"}
    axes.text(x, y, name, ha="center", va="center", fontsize=11, bbox=box, zorder=3)


def _arrow(axes: Any, before: str, after: str, label: str) -> None:
    (x0, y0), (x1, y1) = PLACES[before], PLACES[after]
    if before == after:
        axes.text(x0 + 0.12, y0 + 0.28, f"↺ {label}", fontsize=8, color="#555555")
        return
    style = {"arrowstyle": "-|>", "color": "#777777", "connectionstyle": "arc3,rad=0.18", "shrinkA": 22, "shrinkB": 22}
    axes.annotate("", (x1, y1), (x0, y0), arrowprops=style)
    # on the side to which the arc bends, so that two ways between the same boxes keep their labels apart
    x, y = (x0 + x1) / 2 + 0.09 * (y1 - y0) * 0.14, (y0 + y1) / 2 - 0.09 * (x1 - x0) * 7
    white = {"facecolor": "white", "edgecolor": "none", "pad": 0.6, "alpha": 0.85}
    axes.text(x, y, label, fontsize=8, ha="center", va="center", color="#333333", bbox=white if label else None, zorder=2)
