"""Reads flights by pyarrow, DuckDB and polars. Usage: flight.py ADDRESS REPLAY"""

import base64
import json
import sys

import duckdb
import polars
import pyarrow
import pyarrow.flight

client = pyarrow.flight.FlightClient(f"grpc://{sys.argv[1]}")
replay = sys.argv[2]


def ticket(kind, **more):
    return pyarrow.flight.Ticket(json.dumps({"replay": replay, "include": [{"kinds": [kind]}], **more}))


kinds = [info.descriptor.path[1].decode() for info in client.list_flights() if info.descriptor.path[0].decode() == replay]
assert {"player_diff", "finish", "fact_finish"} <= set(kinds), kinds
info = client.get_flight_info(pyarrow.flight.FlightDescriptor.for_path(replay, "player_diff"))
moves = client.do_get(info.endpoints[0].ticket).read_all()
assert moves.schema == info.schema == client.get_schema(info.descriptor).schema
assert moves.num_rows == 1851, moves.num_rows
assert b"world units" in moves.schema.field("x").metadata[b"comment"]

# Resumed by the cursor of the first batch.
reader = client.do_get(ticket("player_diff", max_batch_events=700))
first = reader.read_chunk()
reader.cancel()
cursor = first.app_metadata.to_pybytes()


rest = client.do_get(ticket("player_diff", start={"cursor": base64.b64encode(cursor).decode()})).read_all()
assert pyarrow.concat_tables([pyarrow.Table.from_batches([first.data]), rest]).combine_chunks().equals(moves.combine_chunks())



def bare(of):
    """Whether a type has a struct without fields, which DuckDB reads since 2.0."""
    below = [of.field(i).type for i in range(of.num_fields)]
    return pyarrow.types.is_struct(of) and not below or any(bare(t) for t in below)


# All kinds, nested ones and empty ones too, by all three.
for kind in kinds:
    rows_of_kind = client.do_get(ticket(kind)).read_all()
    rows = rows_of_kind.num_rows
    if not any(bare(f.type) for f in rows_of_kind.schema):
        assert duckdb.sql("select count(*) from rows_of_kind").fetchall() == [(rows,)], kind
    assert polars.from_arrow(rows_of_kind).height == rows, kind
    again = client.do_get(ticket(kind, arrow_compression="ARROW_COMPRESSION_NONE")).read_all()
    assert again.to_pylist() == rows_of_kind.to_pylist(), kind
assert duckdb.sql("select max(x) from moves").fetchall() == [(3058,)]

# Of all replays, with their names.
many = {"formats": ["FORMAT_TEEHISTORIAN"], "options": {"include": [{"kinds": ["player_diff"]}], "where": "event.client_id == 1"}}
rows_of_all = client.do_get(pyarrow.flight.Ticket(json.dumps(many))).read_all()
some = '"offset", "index", at_tick, client_id, dx, dy, x, y'
of_one = duckdb.sql(f"select {some} from rows_of_all where replay = '{replay}'").fetchall()
assert of_one == duckdb.sql(f"select {some} from moves where client_id = 1").fetchall() and len(of_one) > 0
assert polars.from_arrow(rows_of_all)["replay"].n_unique() > 1

for wrong in ({"replay": replay}, {"replay": replay, "include": [{"kinds": ["tick", "join"]}]}):
    try:
        client.do_get(pyarrow.flight.Ticket(json.dumps(wrong))).read_all()
        raise SystemExit("a wrong ticket is accepted")
    except (pyarrow.lib.ArrowInvalid, pyarrow.flight.FlightError) as error:
        assert "kind" in str(error), error
print("flights are read")
