"""The rows of a waiting thread as a release left them, as COPY has them. `python tests/field/dump.py URL` keeps them anew."""

import json
import sys
from pathlib import Path
from typing import Any

import psycopg

DUMP = Path(__file__).with_name("waiting_0_1_0.json")
TABLES = """
SELECT format('%I.%I', schemaname, tablename) FROM pg_tables
WHERE (schemaname = 'interlock' AND tablename !~ 'yoyo') OR tablename IN ('checkpoints', 'checkpoint_blobs', 'checkpoint_writes')
ORDER BY 1
"""


def names_of_migrations() -> list[str]:
    return [f"{name}.sql" for name in json.loads(DUMP.read_text())["migrations"]]


def keep(database: psycopg.Connection[Any]) -> None:
    rows = {}
    for (table,) in database.execute(TABLES).fetchall():
        with database.cursor().copy(f"COPY {table} TO STDOUT") as copy:
            text = b"".join(bytes(piece) for piece in copy).decode()
        if text:
            rows[table] = text.splitlines()
    names = database.execute("SELECT migration_id FROM interlock._yoyo_migration WHERE migration_id ~ '^[0-9]' ORDER BY 1").fetchall()
    DUMP.write_text(json.dumps({"migrations": [name for (name,) in names], "rows": rows}, indent=1, ensure_ascii=False) + "\n")


def restore(database: psycopg.Connection[Any]) -> None:
    """Past every trigger, as a backup comes back."""
    database.execute("SET session_replication_role = replica")
    for table, rows in json.loads(DUMP.read_text())["rows"].items():
        database.execute(f"DELETE FROM {table}")  # type: ignore[arg-type]
        with database.cursor().copy(f"COPY {table} FROM STDIN") as copy:
            copy.write("".join(f"{row}\n" for row in rows))


if __name__ == "__main__":
    with psycopg.connect(sys.argv[1]) as connection:
        keep(connection)
