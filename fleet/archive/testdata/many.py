"""Times queries of DuckDB over all replays of an archive, and over directories of one file for each replay.
Usage: many.py ARCHIVE DIRECTORY"""

import pathlib
import sys
import time

import engines

QUERIES = {
    "player_diff": "select count(distinct {replay}), sum(abs(dx) + abs(dy)) from {rows}",
    "finish": "select count(distinct {replay}), min(time) from {rows}",
}


def main(archive, directory):
    c = engines.connect()
    for kind, query in QUERIES.items():
        at = pathlib.Path(archive, "teehistorian", kind)
        version = (at / "metadata/version-hint.text").read_text()
        costs = []
        for replay, rows in [
            ("replay", f"iceberg_scan('{at}/metadata/v{version}.metadata.json')"),
            ("filename", f"read_parquet('{directory}/kind={kind}/*.parquet', filename = true)"),
        ]:
            best = None
            for _ in range(3):
                begun = time.perf_counter()
                replays = c.sql(query.format(replay=replay, rows=rows)).fetchall()[0][0]
                took = time.perf_counter() - begun
                best = took if best is None else min(best, took)
            costs.append(best / replays)
            print(f"{kind}, {rows.split('(')[0]}: {replays} replays in {best:.3f} s, {best / replays * 1e6:.1f} us a replay")
        print(f"{kind}: the archive takes 1/{costs[1] / costs[0]:.1f} of the time")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
