"""Reads all tables of an archive with pyiceberg, and with DuckDB if its extension can be loaded, and compares the rows by hash.
Usage: engines.py ARCHIVE {"FORMAT/KIND": ROWS, ...}"""

import glob
import hashlib
import json
import pathlib
import sys

import duckdb
from pyiceberg.table import StaticTable


def connect():
    """Returns a connection with the extension iceberg, or None."""
    files = []
    try:
        import duckdb_ext  # packages of PyPI with DuckDB's extensions, for machines that do not reach DuckDB's own server

        files = glob.glob(f"{list(duckdb_ext.__path__)[0]}/extensions/v{duckdb.__version__}/*/*.duckdb_extension")
    except ImportError:
        pass
    c = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    try:
        for name in sorted(files) or ["iceberg"]:
            if not files:
                c.execute("install iceberg")
            c.execute(f"load '{name}'")
    except duckdb.Error:
        return None
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
        if c:
            other = c.sql(f"from iceberg_scan('{metadata}')").arrow()
            other = (other.read_all() if hasattr(other, "read_all") else other).cast(one.schema)
            if digest(one) != digest(other):
                raise SystemExit(f"{table}: DuckDB reads other rows than pyiceberg")
    print(len(counts), "tables are read by pyiceberg", "and DuckDB" if c else "only: DuckDB has no extension iceberg here")


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
