"""What the numbers allow to be said: Wilson's interval against published values, and the edges of each piece of advice."""

from typing import Any

import pytest

from graph.advice import advise, percent, share, wilson
from memory.stats import Figures, Gate, Votes


@pytest.mark.parametrize(
    ("part", "whole", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],  # Newcombe 1998, table I
)
def test_the_interval_is_the_published_one(part: int, whole: int, low: float, high: float) -> None:
    assert wilson(part, whole) == pytest.approx((low, high), abs=1e-4)


def kinds(*, rules: Any = None, **counts: Any) -> list[str]:
    gate = Gate(counts.pop("tool", "wire"), counts.pop("rule", "defaults"), Votes(), **counts)
    return [one.kind for one in advise(Figures(gate, [], [gate], []), rules or {}, {})]


def test_below_the_minimum_nothing_is_said() -> None:
    assert share(19, 19) is None and share(20, 20) is not None
    assert kinds(asked=19, rejected=19) == [] and kinds(accepted=0, flagged=19) == []


def test_a_gate_is_in_vain_only_where_it_never_stopped_anything() -> None:
    assert kinds(asked=73, approved=73) == ["loosen"]
    assert kinds(asked=72, approved=72) == []
    for stopped in ("rejected", "modified", "escalated"):
        assert "loosen" not in kinds(asked=5000, approved=4999, **{stopped: 1})


def test_what_is_flagged_is_asked_again() -> None:
    assert kinds(pre_approved=100, accepted=17, flagged=3) == ["ask_again"]
    assert kinds(pre_approved=100, accepted=99, flagged=1) == []


def test_a_rule_is_written_out_only_where_it_is_known_what_it_is_about() -> None:
    gate = Gate("wire", "small", Votes(), asked=100, approved=100)
    (unknown,) = advise(Figures(gate, [], [gate], []), {}, {})
    (known,) = advise(Figures(gate, [], [gate], []), {"small": 'args.to == "bob"'}, {})
    assert unknown.toml == ""
    assert 'when = "tool == \\"wire\\" && (args.to == \\"bob\\")"' in known.toml


def test_a_rule_that_cannot_be_evaluated_is_to_be_mended_and_not_loosened() -> None:
    assert kinds(rule="small (failed)", asked=100, approved=100) == ["broken"]


def test_nearly_all_is_not_shown_as_all() -> None:
    assert [percent(part) for part in (1, 0.996, 0.5, 0.004, 0)] == ["100%", "99.6%", "50%", "0.4%", "0%"]
