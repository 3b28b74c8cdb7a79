"""Reads all tables of an archive with Dask, a file as a partition, and compares the rows by hash with those of pyiceberg.
Usage: dask_tables.py ARCHIVE {"FORMAT/KIND": ROWS, ...}"""

import hashlib
import json
import sys

import dask
import dask.dataframe as dd
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.table import StaticTable


def digest(frame):
    """Returns the hash of the rows, in any order. Numbers are floating-point where a partition lacks some."""
    rows = (json.dumps({k: str(v) for k, v in row.items()}, sort_keys=True) for row in frame.to_dict("records"))
    return hashlib.sha256("\n".join(sorted(rows)).encode()).hexdigest()


def main(archive, counts):
    dask.config.set({"dataframe.convert-string": False})
    for name, rows in counts.items():
        table = StaticTable.from_metadata(f"{archive}/{name}")
        scan = table.scan()
        read = ArrowScan(table.metadata, table.io, scan.projection(), scan.row_filter)
        frame = dd.from_map(lambda file: read.to_table([file]).to_pandas(), list(scan.plan_files())).compute()
        if len(frame) != rows or digest(frame) != digest(scan.to_pandas()):
            raise SystemExit(f"{name}: Dask reads other rows than pyiceberg")
    print(len(counts), "tables are the same by pyiceberg and Dask")


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
