"""Reads all tables of an archive with Spark, and compares the rows by hash with those of pyiceberg.
Usage: spark.py JAR ARCHIVE {"FORMAT/KIND": ROWS, ...}. JAR is Iceberg's runtime for this Spark."""

import hashlib
import json
import sys

from pyiceberg.table import StaticTable
from pyspark.sql import SparkSession


def digest(rows):
    """Returns the hash of the rows, in any order."""

    def plain(value):
        return bytes(value).hex() if isinstance(value, (bytes, bytearray)) else str(value)

    return hashlib.sha256("\n".join(sorted(json.dumps(row, default=plain, sort_keys=True) for row in rows)).encode()).hexdigest()


def main(jar, archive, counts):
    catalog = "spark.sql.catalog.archive"
    spark = (
        SparkSession.builder.master("local[1]")
        .config("spark.jars", jar)
        .config("spark.ui.enabled", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config(catalog, "org.apache.iceberg.spark.SparkCatalog")
        .config(catalog + ".type", "hadoop")
        .config(catalog + ".warehouse", archive)
        .getOrCreate()
    )
    for table, rows in counts.items():
        found = [row.asDict(True) for row in spark.table("archive." + table.replace("/", ".")).collect()]
        want = StaticTable.from_metadata(f"{archive}/{table}").scan().to_arrow().to_pylist()
        for row in want:  # Spark's times have no zone
            row.update({k: v.replace(tzinfo=None) for k, v in row.items() if getattr(v, "tzinfo", None)})
        if len(found) != rows or digest(found) != digest(want):
            raise SystemExit(f"{table}: Spark reads other rows than pyiceberg")
    print(len(counts), "tables are the same by pyiceberg and Spark")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]))
