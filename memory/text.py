"""Text from outside (a model, a tool, a person) is cleaned visibly, once, where it comes in, and escaped where a person sees it."""

import unicodedata

HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
LOOKS_BLANK = {"\u3164", "\uffa0", "\u115f", "\u1160", "\u2800", "\u034f"}


def clean(text: str) -> str:
    """NUL and lone surrogates, which PostgreSQL cannot store, become U+FFFD; nothing else changes."""
    return "".join("\ufffd" if char == "\0" or "\ud800" <= char <= "\udfff" else char for char in text)


def escape(text: str, *, lines: bool = False) -> str:
    """Shows what would be invisible or would move other text as \\u{…}; with `lines`, line ends stay."""
    return "".join(char if (lines and char == "\n") or not _hides(char) else f"\\u{{{ord(char):x}}}" for char in text)


def _hides(char: str) -> bool:
    if " " <= char <= "~":
        return False
    category = unicodedata.category(char)
    return category in HIDDEN or category == "Zs" or char in LOOKS_BLANK


def shorten(text: str, limit: int = 8000) -> str:
    """At most `limit` characters, with a visible mark that says how many are missing in the middle."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters left out …]\n{text[-half:]}"


def message_of(error: BaseException, limit: int = 500) -> str:
    """The class and the text of an error, fit to be stored; one whose text cannot be made is no reason to fail."""
    try:
        text = str(error)
    except Exception as worse:  # noqa: BLE001 - an error of somebody else's class
        text = f"(no text: {type(worse).__name__})"
    return shorten(clean(f"{type(error).__name__}: {text}"), limit)
