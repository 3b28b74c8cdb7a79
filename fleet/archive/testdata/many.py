"""Times queries over all replays of an archive, and over directories of one file for each replay.
Usage: many.py ARCHIVE DIRECTORY [JAR]. With JAR, Iceberg's runtime, it asks Spark, otherwise DuckDB."""

import pathlib
import sys
import time

QUERIES = {
    "player_diff": "select count(distinct {replay}), sum(abs(dx) + abs(dy)) from {rows}",
    "finish": "select count(distinct {replay}), min(time) from {rows}",
}


def duckdb(archive, directory):
    """Returns what asks, and the expressions for rows of each layout."""
    import engines

    def version(kind):
        at = pathlib.Path(archive, "teehistorian", kind, "metadata")
        return at / f"v{(at / 'version-hint.text').read_text()}.metadata.json"

    connection = engines.connect()
    return lambda query: connection.sql(query).fetchall()[0][0], [
        ("archive", "replay", lambda kind: f"iceberg_scan('{version(kind)}')"),
        ("files", "filename", lambda kind: f"read_parquet('{directory}/kind={kind}/*.parquet', filename = true)"),
    ]


def spark(archive, directory, jar):
    """Is duckdb with Spark."""
    from pyspark.sql import SparkSession

    catalog = "spark.sql.catalog.archive"
    builder = SparkSession.builder.master("local[2]").config("spark.jars", jar).config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    builder = builder.config("spark.sql.parquet.enableVectorizedReader", "false")  # that of Spark 3.5 does not know all encodings
    builder = builder.config(catalog, "org.apache.iceberg.spark.SparkCatalog").config(catalog + ".type", "hadoop")
    session = builder.config(catalog + ".warehouse", archive).config("spark.sql.shuffle.partitions", "2").getOrCreate()
    return lambda query: session.sql(query).collect()[0][0], [
        ("archive", "replay", lambda kind: f"archive.teehistorian.{kind}"),
        ("files", "_metadata.file_path", lambda kind: f"parquet.`{directory}/kind={kind}`"),
    ]


def main(archive, directory, *jar):
    ask, layouts = spark(archive, directory, *jar) if jar else duckdb(archive, directory)
    engine = "Spark" if jar else "DuckDB"
    for kind, query in QUERIES.items():
        costs = []
        for layout, replay, rows in layouts:
            best = None
            for _ in range(3):
                begun = time.perf_counter()
                replays = ask(query.format(replay=replay, rows=rows(kind)))
                took = time.perf_counter() - begun
                best = took if best is None else min(best, took)
            costs.append(best / replays)
            print(f"{engine}, {kind}, {layout}: {replays} replays in {best:.3f} s, {best / replays * 1e6:.1f} us a replay")
        print(f"{engine}, {kind}: the archive takes 1/{costs[1] / costs[0]:.1f} of the time")


if __name__ == "__main__":
    main(*sys.argv[1:])
