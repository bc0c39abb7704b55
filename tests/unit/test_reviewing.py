"""Which pre-approved calls are looked at: the share that the rule names, and the same ones whoever draws."""

import hashlib

from graph.reviewing import is_drawn

KEYS = [hashlib.sha256(str(number).encode()).hexdigest() for number in range(4000)]


def test_the_share_that_is_drawn_is_the_one_that_is_named() -> None:
    for share in (0.0, 0.05, 0.2, 0.5, 1.0):
        drawn = sum(is_drawn(key, "small", share) for key in KEYS)
        assert abs(drawn - share * len(KEYS)) <= 4 * (share * (1 - share) * len(KEYS)) ** 0.5


def test_it_follows_from_the_key_and_the_rule_alone() -> None:
    """Written out a second time, as an auditor would."""
    for key in KEYS[:200]:
        digest = hashlib.sha256(b"small\n" + key.encode()).digest()
        fraction = (int.from_bytes(digest[:8], "big") >> 12) / 2**52
        assert is_drawn(key, "small", 0.2) == (fraction < 0.2)
    assert [is_drawn(key, "small", 0.5) for key in KEYS] != [is_drawn(key, "large", 0.5) for key in KEYS]


def test_a_larger_share_holds_the_smaller_one() -> None:
    assert all(is_drawn(key, "small", 0.5) for key in KEYS if is_drawn(key, "small", 0.2))
