"""The numbers as a picture. It needs matplotlib, which is an extra: nothing else loads it."""

import io
import logging
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from graph import screen
from graph.advice import MINIMUM, Share, share
from memory.errors import UsageError
from memory.files import writing
from memory.stats import Figures, Gate, Operator

FORMATS = ("png", "svg", "pdf")
MOST_ROWS = 15
LONGEST_LABEL = 44
INK, FAINT = "#222222", "#8a8a8a"
ENDS = {  # colours that people who confuse red and green can tell apart
    "approved": "#0072b2", "modified": "#56b4e9", "rejected": "#d55e00", "escalated": "#e69f00", "expired": "#8a8a8a",
    "waiting": "#d9d9d9",
}  # fmt: skip
REVIEWS = {"accepted": "#0072b2", "flagged": "#d55e00", "unreviewed": "#d9d9d9"}
TICKS = {1: "1 s", 10: "10 s", 60: "1 min", 600: "10 min", 3600: "1 h", 36000: "10 h", 86400: "1 d", 864000: "10 d"}


def check(file: Path) -> str:
    """The format; raises UsageError before anything is counted."""
    kind = file.suffix.lower().removeprefix(".")
    if kind not in FORMATS:
        raise UsageError(f"{str(file)!r} is no name for a picture.", remedy=f"It ends in .{', .'.join(FORMATS)}.", code="bad_file")
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        remedy = "Install it: pip install 'interlock-agent[plot]', or pip install matplotlib. Without --plot nothing needs it."
        message = f"A picture needs matplotlib, which cannot be loaded here: {error}."
        raise UsageError(message, remedy=remedy, code="no_matplotlib") from None
    return kind


def draw(figures: Figures, file: Path, *, force: bool) -> None:
    kind = check(file)
    picture = _picture(figures)
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # that it builds a cache is no news to who asked for a picture
    made = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a name may hold characters that no font here has
        picture.savefig(made, format=kind, dpi=150)
    with writing(file, force=force) as out:
        out.buffer.write(made.getvalue())


def _picture(figures: Figures) -> Any:
    from matplotlib.figure import Figure

    asked = [gate for gate in figures.rules if gate.asked]
    passed = [gate for gate in figures.rules if gate.pre_approved]
    gates, people, reviewed = asked[:MOST_ROWS], figures.operators[:MOST_ROWS], passed[:MOST_ROWS]
    heights = [max(2, len(rows)) for rows in (gates, people, *([reviewed] if reviewed else []))]
    picture = Figure(figsize=(13, 1 + 0.8 * len(heights) + 0.4 * sum(heights)), layout="constrained", facecolor="white")
    rows = picture.subplots(len(heights), 2, height_ratios=heights, width_ratios=[3, 2])
    _bars(rows[0][0], "How questions ended", gates, ENDS)
    _times(rows[0][1], gates)
    _approved(rows[1][0], people)
    _hasty(rows[1][1], people)
    if reviewed:
        _bars(rows[2][0], "Pre-approved calls that were drawn for review", reviewed, REVIEWS)
        _flagged(rows[2][1], reviewed)
    overall = figures.overall
    left_out = len(asked) - len(gates) + len(passed) - len(reviewed)
    more = f" · {left_out} more rows are not shown" if left_out else ""
    title = f"{overall.asked} questions to people, {overall.waiting} of them waiting, {overall.pre_approved} calls pre-approved{more}"
    picture.suptitle(title, fontsize=13, color=INK)
    return picture


def _bars(axes: Any, title: str, gates: Sequence[Gate], colours: Mapping[str, str]) -> None:
    rows, before = range(len(gates)), [0] * len(gates)
    for name, colour in colours.items():
        counts = [getattr(gate, name) for gate in gates]
        if any(counts):
            axes.barh(rows, counts, left=before, color=colour, label=name, height=0.7, edgecolor="white", linewidth=0.5)
        before = [sofar + count for sofar, count in zip(before, counts, strict=True)]
    for row, total in zip(rows, before, strict=True):
        axes.annotate(str(total), (total, row), xytext=(4, 0), textcoords="offset points", va="center", fontsize=8, color=FAINT)
    _frame(axes, title, [f"{gate.tool} · {gate.rule}" for gate in gates])
    axes.set_xlim(0, 1.1 * max([1, *before]))
    if any(before):
        axes.legend(loc="best", frameon=False, fontsize=8)


def _times(axes: Any, gates: Sequence[Gate]) -> None:
    timed = [(row, gate.median, gate.p90) for row, gate in enumerate(gates) if gate.median is not None and gate.p90 is not None]
    for row, median, p90 in timed:
        low, high = max(median, 0.5), max(p90, 0.5)
        axes.plot([low, high], [row, row], color=ENDS["modified"], linewidth=3, solid_capstyle="round")
        axes.plot([low], [row], "o", color=ENDS["approved"], markersize=7)
    axes.set_xscale("log")
    axes.set_xticks(list(TICKS), list(TICKS.values()))
    axes.minorticks_off()
    slowest = max([60.0, *(p90 for _, _, p90 in timed)])
    axes.set_xlim(0.4, slowest * 2)
    _frame(axes, "Time to a decision: median (dot) to nine in ten (line)", [""] * len(gates))


def _approved(axes: Any, people: Sequence[Operator]) -> None:
    for row, one in enumerate(people):
        _interval(axes, row, share(one.approved, one.approved + one.modified + one.rejected), ENDS["approved"], ENDS["modified"])
    _shares(axes, "Approved as proposed (dot), and where it lies with 95 % (line)", [f"{one.name} ({one.source})" for one in people])


def _flagged(axes: Any, gates: Sequence[Gate]) -> None:
    for row, one in enumerate(gates):
        _interval(axes, row, share(one.flagged, one.flagged + one.accepted), ENDS["rejected"], ENDS["escalated"])
    _shares(axes, "Flagged (dot), and where it lies with 95 % (line)", [""] * len(gates))


def _interval(axes: Any, row: int, of: Share | None, dot: str, line: str) -> None:
    if of is None:
        axes.annotate(f"fewer than {MINIMUM}", (0.02, row), va="center", fontsize=8, color=FAINT)
        return
    axes.plot([of.low, of.high], [row, row], color=line, linewidth=3, solid_capstyle="round")
    axes.plot([of.part / of.whole], [row], "o", color=dot, markersize=7)


def _hasty(axes: Any, people: Sequence[Operator]) -> None:
    rows = range(len(people))
    axes.barh(rows, [one.votes.fast / max(1, one.votes.votes) for one in people], height=0.6, color=ENDS["rejected"])
    for row, one in enumerate(people):
        place = (one.votes.fast / max(1, one.votes.votes), row)
        told = f"{one.votes.fast} of {one.votes.votes}"
        axes.annotate(told, place, xytext=(4, 0), textcoords="offset points", va="center", fontsize=8, color=FAINT)
    _shares(axes, "Decided sooner than the text can be read", [""] * len(people))


def _shares(axes: Any, title: str, labels: Sequence[str]) -> None:
    axes.set_xlim(-0.02, 1.12)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25 %", "50 %", "75 %", "100 %"])
    _frame(axes, title, labels)


def _frame(axes: Any, title: str, labels: Sequence[str]) -> None:
    axes.set_title(title, loc="left", fontsize=10, color=INK)
    axes.set_yticks(range(len(labels)), [_label(text) for text in labels], fontsize=8)
    axes.set_ylim(max(1, len(labels)) - 0.4, -0.6)
    axes.tick_params(length=0, colors=INK, labelsize=8)
    axes.grid(axis="x", color="#ececec")
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)


def _label(text: str) -> str:
    """A dollar would begin a formula."""
    short = text if len(text) <= LONGEST_LABEL else f"{text[: LONGEST_LABEL - 1]}…"
    return screen.escape(short).replace("$", "\\$")
