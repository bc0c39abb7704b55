"""One form of a point in time, wherever we write one: in JSON, on the record, in a log, in a message."""

from datetime import UTC, datetime


def moment(at: datetime) -> str:
    """Of an aware time: UTC, in microseconds, as 2026-01-31T09:30:00.000000Z."""
    return at.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def moment_or_none(at: datetime | None) -> str | None:
    return moment(at) if at else None
