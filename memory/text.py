"""Text from outside (a model, a tool, a person) is cleaned visibly, once, where it comes in."""


def clean(text: str) -> str:
    """NUL and lone surrogates, which PostgreSQL cannot store, become U+FFFD; nothing else changes."""
    return "".join("\ufffd" if char == "\0" or "\ud800" <= char <= "\udfff" else char for char in text)


def shorten(text: str, limit: int = 8000) -> str:
    """At most `limit` characters, with a visible mark that says how many are missing in the middle."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters left out …]\n{text[-half:]}"
