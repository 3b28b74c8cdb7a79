"""Reads all tables of an archive with pyiceberg and with DuckDB, and compares the rows by hash.
Usage: engines.py ARCHIVE {"FORMAT/KIND": ROWS, ...}"""

import hashlib
import json
import pathlib
import sys

import duckdb
import duckdb_extensions
from pyiceberg.table import StaticTable


def connect():
    """Returns a connection with the extension iceberg."""
    c = duckdb.connect()
    for name in ("avro", "iceberg"):
        duckdb_extensions.import_extension(name, con=c)
        c.execute(f"load {name}")
    c.execute("set TimeZone='UTC'")
    return c


def digest(table):
    """Returns the hash of the rows, in any order."""
    rows = sorted(json.dumps(row, default=str) for row in table.to_pylist())
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()


def main(archive, counts):
    c = connect()
    for table, rows in counts.items():
        at = pathlib.Path(archive, table)
        version = (at / "metadata/version-hint.text").read_text()
        metadata = f"{at}/metadata/v{version}.metadata.json"
        one = StaticTable.from_metadata(metadata).scan().to_arrow()
        if one.num_rows != rows:
            raise SystemExit(f"{table}: pyiceberg reads {one.num_rows} rows, want {rows}")
        other = c.sql(f"from iceberg_scan('{metadata}')").to_arrow_table().cast(one.schema)
        if digest(one) != digest(other):
            raise SystemExit(f"{table}: DuckDB reads other rows than pyiceberg")
    print(len(counts), "tables are the same by pyiceberg and DuckDB")


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
