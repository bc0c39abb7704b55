"""What a shell offers while a person types: names from the database, by one short query. Nothing is started, migrated or written."""

import psycopg
from psycopg.rows import tuple_row

from memory.postgres.database import connect_options, parse_dsn

SECONDS = 2  # a person waits for the key that they pressed
QUERIES = {
    "thread": "SELECT thread_id, status FROM interlock.run ORDER BY updated_at DESC LIMIT 200",
    "approval": """
        SELECT approval_id, tool || ' · ' || thread_id FROM interlock.approval WHERE status = 'pending' ORDER BY requested_at LIMIT 200""",
    "operator": "SELECT name, 'tier ' || tier FROM interlock.operator WHERE revoked_at IS NULL ORDER BY name LIMIT 200",
    "tool": "SELECT DISTINCT tool, '' FROM interlock.approval",
}


def offers(dsn: str, what: str) -> list[tuple[str, str]]:
    """Names, and a word about each. Raises what psycopg and `parse_dsn` raise."""
    plain = parse_dsn(dsn)
    options = {**connect_options(plain, "interlock completion"), "connect_timeout": SECONDS, "autocommit": False}
    with psycopg.connect(plain, **{**options, "row_factory": tuple_row}) as connection:
        connection.execute(f"SET LOCAL statement_timeout = '{SECONDS}s'")
        return connection.execute(QUERIES[what]).fetchall()
