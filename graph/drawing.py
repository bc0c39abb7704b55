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
    ("agent_think", "agent_think", "no call was usable, or the answer is forbidden"),
    ("agent_think", "remember_episode", "an answer"),
    ("execute_tools", "after_tools", "each call has ended"),
    ("after_tools", "await_human_approval", "calls still wait"),
    ("after_tools", "agent_think", "every call is answered"),
    ("await_human_approval", "execute_tools", "approved"),
    ("await_human_approval", "remember_episode", "an answer may go out"),
    ("await_human_approval", "handle_rejection", "rejected, expired, cancelled"),
    ("await_human_approval", "await_human_approval", "another question is next"),
    ("handle_rejection", "agent_think", "the model is told"),
    ("handle_rejection", "await_human_approval", "others still wait, or an undo does"),
    ("handle_rejection", "execute_tools", "others were approved"),
    ("handle_rejection", "remember_episode", "ended as rejected"),
    ("handle_rejection", END, "cancelled"),
    ("remember_episode", END, ""),
)
PLACES: Mapping[str, tuple[float, float]] = {
    START: (0.45, 6.0), "retrieve_episodes": (0.45, 5.3), "agent_think": (0.45, 4.3), "remember_episode": (0.95, 4.3),
    "after_tools": (0.05, 3.4), "await_human_approval": (0.76, 2.7), "execute_tools": (0.24, 1.9), "handle_rejection": (0.6, 0.7),
    END: (1.07, 0.7),
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
    boxes = {name: _box(axes, name, x, y) for name, (x, y) in PLACES.items()}
    for before, after, label in EDGES:
        _arrow(axes, boxes, (before, after), label)
    made = io.BytesIO()
    canvas.print_figure(made, format="png")
    return made.getvalue()


def _state(name: str) -> str:
    return "[*]" if name in {START, END} else name


def _box(axes: Any, name: str, x: float, y: float) -> Any:
    text = {START: "start", END: "end"}.get(name, name)
    shape = "circle,pad=0.4" if name in {START, END} else "round,pad=0.5"
    box = {"boxstyle": shape, "facecolor": COLOURS.get(name, "#eeeeee"), "edgecolor": "#444444"}
    return axes.text(x, y, text, ha="center", va="center", fontsize=11, bbox=box, zorder=3).get_bbox_patch()


def _arrow(axes: Any, boxes: Mapping[str, Any], edge: tuple[str, str], label: str) -> None:
    (x0, y0), (x1, y1) = PLACES[edge[0]], PLACES[edge[1]]
    if edge[0] == edge[1]:
        axes.text(x0 + 0.02, y0 + 0.24, f"↺ {label}", fontsize=8, color="#333333")
        return
    bend = 0.12
    style = {
        "arrowstyle": "-|>", "color": "#666666", "connectionstyle": f"arc3,rad={bend}", "patchA": boxes[edge[0]], "patchB": boxes[edge[1]],
        "shrinkA": 3, "shrinkB": 3,
    }  # fmt: skip
    axes.annotate("", (x1, y1), (x0, y0), arrowprops=style, zorder=1)
    # Where the arc is farthest out, so that two ways between the same boxes keep their labels apart; a unit of y is this much of one of x.
    unit = 0.156
    x = 0.57 * x0 + 0.43 * x1 + bend * (y1 - y0) * unit / 2
    y = 0.57 * y0 + 0.43 * y1 - bend * (x1 - x0) / unit / 2
    white = {"facecolor": "white", "edgecolor": "none", "pad": 0.6, "alpha": 0.85}
    axes.text(x, y, label, fontsize=8, ha="center", va="center", color="#333333", bbox=white if label else None, zorder=4)
