"""Makes distinct replays from a teehistorian file, exports them by one command, and asks DuckDB about all of them: the query in
docs/cookbook.md. Usage: many.py REPLAYD SAMPLE NUMBER"""

import pathlib
import re
import subprocess
import sys
import tempfile
import uuid

import duckdb

QUERY = """
select count(*) as replays, sum(moves) as moves, sum(distance) as distance, max(last) as seconds
from (
  select filename as file, count(*) as moves, sum(abs(dx) + abs(dy)) as distance, max(time) as last
  from read_parquet('{tables}/format=teehistorian/kind=player_diff/*.parquet', filename = true)
  group by file
)
join read_parquet('{tables}/replays/format=teehistorian/*.parquet') as r
  on contains(file, split_part(r.identity, ':', 2))
where r.end_reason = 'FINISHED'
"""


def main(replayd, sample, number):
    content = pathlib.Path(sample).read_bytes()
    game = re.search(rb'"game_uuid":"([0-9a-f-]{36})"', content).group(1)
    with tempfile.TemporaryDirectory() as directory:
        replays, tables = pathlib.Path(directory, "replays"), pathlib.Path(directory, "tables")
        replays.mkdir()
        for i in range(number):
            name = str(uuid.uuid5(uuid.NAMESPACE_URL, str(i)))
            (replays / f"{name}.teehistorian").write_bytes(content.replace(game, name.encode()))
        subprocess.run([replayd, "export", *sorted(replays.iterdir()), "--to", tables], check=True)
        one = duckdb.sql(
            f"select count(*), sum(abs(dx) + abs(dy)), max(time) from '{next(tables.glob('format=*/kind=player_diff/*.parquet'))}'"
        ).fetchall()[0]
        answer = duckdb.sql(QUERY.format(tables=tables))
        print(answer)
        want = (number, one[0] * number, one[1] * number, one[2])
        if answer.fetchall() != [want]:
            raise SystemExit(f"the query returns {answer.fetchall()}, want {want}")
        print(number, "replays are one table")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
