"""What looks like a secret is not remembered: a memory is read by models, and by everybody of its tenant."""

import re
from collections.abc import Iterable

HIDDEN = "‹secret›"
SHAPES = re.compile(
    r"""
    -----BEGIN\s[A-Z\s]*PRIVATE\sKEY-----.*?(?:-----END\s[A-Z\s]*PRIVATE\sKEY-----|\Z)
    | \b(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}                      # OpenAI, Anthropic, Stripe
    | \b(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{10,}
    | \bgh[pousr]_[A-Za-z0-9]{20,} | \bgithub_pat_[A-Za-z0-9_]{20,} | \bglpat-[A-Za-z0-9_-]{16,}
    | \bxox[abeprs]-[A-Za-z0-9-]{10,}                        # Slack
    | \b(?:AKIA|ASIA)[A-Z0-9]{16}\b | \bAIza[A-Za-z0-9_-]{30,}
    | \bilk_[A-Za-z0-9_-]{20,}                               # an operator's token of ours
    | \beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*
    """,
    re.VERBOSE | re.DOTALL,
)
NAMED = re.compile(
    r"""(?ix) (\b[\w-]*(?:password|passwd|passphrase|secret|api[_-]?key|access[_-]?key|token|credential)[\w-]*["']?\s*[:=]\s*)
        ("[^"\n]*" | '[^'\n]*' | [^\s,;"'}]+)"""
)
BEARER = re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{12,}")
IN_URL = re.compile(r"(\b[a-z][a-z0-9+.-]*://[^\s:/@]*:)[^\s@/]+(?=@)", re.IGNORECASE)


def without_secrets(text: str, known: Iterable[str] = ()) -> str:
    """`known` are values that were declared as secret; the rest is recognised by its shape, so it is no promise."""
    for value in sorted({one for one in known if len(one) > 3}, key=len, reverse=True):
        text = text.replace(value, HIDDEN)
    text = SHAPES.sub(HIDDEN, text)
    text = IN_URL.sub(rf"\1{HIDDEN}", text)
    text = BEARER.sub(rf"\1 {HIDDEN}", text)
    return NAMED.sub(rf"\1{HIDDEN}", text)
