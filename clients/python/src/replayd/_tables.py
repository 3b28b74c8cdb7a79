"""Events as tables: Apache Arrow, pandas, polars, and plain tuples."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from html import escape
from itertools import chain
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from google.protobuf.message import Message

from .v1 import replay_pb2, stream_pb2

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


@lru_cache(64)
def need(module: str, extra: str, what: str) -> Any:
    """Imports a module that an extra installs. Raises ImportError with the remedy."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        message = f"{what} needs {module.partition('.')[0]}: pip install 'replayd[{extra}]'"
        raise ImportError(message, name=module) from error


class Table:
    """The events of one kind of a batch as a table. docs/events lists each kind's columns.

    It can be given to everything that reads Arrow data, such as `pyarrow.table`, `polars.DataFrame` and DuckDB.
    """

    __slots__ = ("kind", "message")

    kind: str
    """The kind of the events, such as "player_diff"."""
    message: stream_pb2.Table
    """The generated message. `schema + data` is a stream of Arrow's IPC format. Its columns may have smaller types than those of
    arrow(); see the option narrow_columns."""

    def __init__(self, message: stream_pb2.Table) -> None:
        self.kind = message.kind
        self.message = message

    def __len__(self) -> int:
        return self.message.rows

    def arrow(self) -> pyarrow.RecordBatch:
        """The table as a pyarrow.RecordBatch."""
        return _widen(self._read(), self.message.schema)

    def _read(self) -> pyarrow.RecordBatch:
        """The table as it was sent, with columns that may be narrow."""
        arrow, ipc = need("pyarrow", "arrow", "a table"), need("pyarrow.ipc", "arrow", "a table")
        batch: pyarrow.RecordBatch
        schema, alone = _schema(self.message.schema)
        if alone:
            batch = ipc.read_record_batch(arrow.py_buffer(self.message.data), schema)
        else:
            options = ipc.IpcReadOptions(use_threads=False)  # the columns are too short for threads
            batch = ipc.open_stream(self.message.schema + self.message.data, options=options).read_next_batch()
        return batch

    def frame(self) -> pandas.DataFrame:
        """The table as a pandas.DataFrame."""
        need("pandas", "pandas", "a data frame")
        made: pandas.DataFrame = self.arrow().to_pandas()
        return made

    def polars(self) -> polars.DataFrame:
        """The table as a polars.DataFrame."""
        made: polars.DataFrame = need("polars", "polars", "a polars frame").from_arrow(self.arrow())
        return made

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        arrow = need("pyarrow", "arrow", "a table")
        return arrow.Table.from_batches([self.arrow()]).__arrow_c_stream__(requested_schema)

    def __array__(self, *_: object, **__: object) -> NoReturn:
        """pandas.DataFrame(table) would be made of this, and have neither names nor types."""
        raise TypeError("use table.frame() for a pandas.DataFrame, and table.arrow().column(name) for an array")

    def __repr__(self) -> str:
        return f"<Table {self.kind}: {len(self)} rows>"

    def _repr_html_(self) -> str:
        """For notebooks: the first rows."""
        batch = self.arrow()
        rows = zip(*(column.to_pylist() for column in batch.slice(0, _SHOWN).columns))
        return html(batch.schema.names, rows, repr(self))


_SHOWN = 10
"""How many rows a notebook shows."""


def html(names: Iterable[str], rows: Iterable[Iterable[object]], caption: str) -> str:
    """A table of HTML."""
    def line(cell: str, values: Iterable[object]) -> str:
        return "<tr>" + "".join(f"<{cell}>{escape('' if v is None else str(v))}</{cell}>" for v in values) + "</tr>"

    body = "".join(line("td", row) for row in rows)
    return f"<table><caption>{escape(caption)}</caption><thead>{line('th', names)}</thead><tbody>{body}</tbody></table>"


_TYPE = b"replayd.type"
"""The key of the type that a narrower column stands for; see StreamEventsRequest.narrow_columns."""


@lru_cache(64)
def _schema(message: bytes) -> tuple[pyarrow.Schema, bool]:
    """The schema of tables as they are sent, and whether their data is a record batch alone, without dictionaries."""
    schema = need("pyarrow.ipc", "arrow", "a table").open_stream(message).schema
    return schema, not any(_has_dictionary(field.type) for field in schema)


def _has_dictionary(kind: Any) -> bool:
    types = need("pyarrow", "arrow", "a table").types
    if types.is_dictionary(kind):
        return True
    return any(_has_dictionary(kind.field(i).type) for i in range(kind.num_fields))


@lru_cache(64)
def _wide(message: bytes) -> tuple[pyarrow.Schema, list[int]]:
    """The schema of tables with the types that their columns stand for, and the indices of the narrower ones."""
    arrow = need("pyarrow", "arrow", "a table")
    schema, _ = _schema(message)
    narrow = [i for i, field in enumerate(schema) if _TYPE in (field.metadata or {})]
    for i in narrow:
        field = schema.field(i)
        metadata = dict(field.metadata)
        wide = arrow.type_for_alias(metadata.pop(_TYPE).decode())
        schema = schema.set(i, field.with_type(wide).with_metadata(metadata))
    return schema, narrow


W = TypeVar("W", "pyarrow.RecordBatch", "pyarrow.Table")


def _widen(tables: W, message: bytes) -> W:
    """Rows of tables, of which this is the schema's message, in the types that their columns stand for."""
    schema, narrow = _wide(message)
    if not narrow:
        return tables
    columns = tables.columns
    for i in narrow:
        wide = schema.field(i).type
        columns[i] = _decoded(columns[i]) if _is_runs(columns[i].type) else columns[i].cast(wide, safe=False)
    return tables.from_arrays(columns, schema=schema)


def _is_runs(kind: Any) -> bool:
    found: bool = need("pyarrow", "arrow", "a table").types.is_run_end_encoded(kind)
    return found


def _decoded(runs: Any) -> Any:
    """The values of a run-end encoded array."""
    return need("pyarrow.compute", "arrow", "a table").run_end_decode(runs)


def tables_of(batch: stream_pb2.EventBatch | stream_pb2.StateBatch) -> dict[str, Table]:
    """The tables of a batch, by kind."""
    return {table.kind: Table(table) for table in batch.tables}


def _tables(response: stream_pb2.StreamEventsResponse, kind: str, wide: bool) -> Iterator[Table]:
    """The tables of a kind. One with a column for each field has the name of the class or the event; only faults can be beside it."""
    batch = response.state if response.HasField("state") else response.batch
    return (Table(table) for table in batch.tables if table.kind == kind or wide and table.kind != "fault")


def column(batch: Any, name: str) -> Any:
    """The column of a pyarrow.RecordBatch or Table. A dot leads into a struct: `input.target_x`."""
    whole, *rest = name.split(".")
    found = batch.column(whole)
    for field in rest:
        compute = need("pyarrow.compute", "arrow", "a column")
        try:
            found = compute.struct_field(found, field)
        except (KeyError, ValueError, TypeError, NotImplementedError):
            raise KeyError(f"there is no column {name!r}: {whole} is {batch.schema.field(whole).type}") from None
    return found


def values(array: Any) -> Iterable[Any]:
    """The Python values of an array of pyarrow. They are made one by one while they are read: a list of them would not fit into a
    processor's caches."""
    arrow = need("pyarrow", "arrow", "a table")
    kind = array.type
    if _is_runs(kind):
        return values(_decoded(array))
    if arrow.types.is_dictionary(kind):
        texts = [*array.dictionary.to_pylist(), None]  # the last is that of -1
        return map(texts.__getitem__, values(array.indices.fill_null(-1) if array.null_count else array.indices))
    if arrow.types.is_integer(kind) or arrow.types.is_floating(kind) or arrow.types.is_boolean(kind):
        numbers = memoryview((array.fill_null(False if arrow.types.is_boolean(kind) else 0) if array.null_count else array).to_numpy(zero_copy_only=False))
        if array.null_count == 0:
            return numbers
        there = memoryview(array.is_valid().to_numpy(zero_copy_only=False))
        return [number if is_there else None for number, is_there in zip(numbers, there)]
    listed: list[Any] = array.to_pylist()
    return listed


def rows_of(kind: str, columns: Sequence[str] | None, wide: bool) -> Callable[[stream_pb2.StreamEventsResponse], Iterable[tuple[Any, ...]]]:
    """A function that returns the tuples of a response."""
    need("pyarrow", "arrow", "rows()")
    need("numpy", "arrow", "rows()")

    def of(table: Table) -> Iterator[tuple[Any, ...]]:
        batch = table._read()
        return zip(*(values(column(batch, name)) for name in (batch.schema.names if columns is None else columns)))

    def rows(response: stream_pb2.StreamEventsResponse) -> Iterable[tuple[Any, ...]]:
        return chain.from_iterable(map(of, _tables(response, kind, wide)))

    return rows


class Collector:
    """Collects the tables of a kind."""

    def __init__(self, kind: str, columns: Sequence[str] | None, wide: bool) -> None:
        self._arrow = need("pyarrow", "arrow", "table()")
        self._kind = kind
        self._wide = wide
        self._columns = columns
        self._parts: list[tuple[bytes, list[Any]]] = []  # the batches after each change of the schema's message

    def take(self, response: stream_pb2.StreamEventsResponse) -> None:
        """Adds the tables of a response."""
        for table in _tables(response, self._kind, self._wide):
            schema = table.message.schema
            if not self._parts or self._parts[-1][0] != schema:
                self._parts.append((schema, []))
            self._parts[-1][1].append(table._read())

    def _part(self, schema: bytes, batches: list[Any]) -> Any:
        """The table of batches of one schema, of the columns that were asked for. Choosing and widening those of each batch would
        take longer than reading it."""
        whole = _widen(self._arrow.Table.from_batches(batches), schema)
        if self._columns is None or self._columns == whole.schema.names:
            return whole
        arrays = [column(whole, name) for name in self._columns]
        fields = [
            whole.schema.field(name) if name in whole.schema.names else self._arrow.field(name, array.type)
            for name, array in zip(self._columns, arrays)
        ]
        return self._arrow.table(arrays, schema=self._arrow.schema(fields, whole.schema.metadata))

    def table(self) -> pyarrow.Table:
        """The whole table."""
        arrow = self._arrow
        if not self._parts:  # the daemon sends no schema for a kind without events
            names = self._columns if self._columns is not None else ["offset", "index", "at_tick", "time"]
            types = {"offset": arrow.int64(), "index": arrow.int64(), "at_tick": arrow.int32(), "time": arrow.float64()}
            fields = [(name, types.get(name, arrow.null())) for name in names]
            empty: pyarrow.Table = arrow.schema(fields).empty_table()
            return empty
        parts = [self._part(schema, batches) for schema, batches in self._parts]
        made: pyarrow.Table = arrow.concat_tables(parts, promote_options="default").unify_dictionaries()
        return made


def joined(tables: Sequence[tuple[str, Any]]) -> pyarrow.Table:
    """The rows of the tables of replays, with the replays' names as the first column."""
    arrow = need("pyarrow", "arrow", "table()")
    parts = []
    for name, table in tables:
        if table.num_rows or len(tables) == 1:
            names = arrow.DictionaryArray.from_arrays(arrow.repeat(arrow.scalar(0, "int32"), table.num_rows), [name])
            parts.append(table.add_column(0, "replay", names))
    if not parts:
        return joined(tables[:1])
    made: pyarrow.Table = arrow.concat_tables(parts, promote_options="default").unify_dictionaries()
    return made


def to_pandas(table: Any) -> Any:
    """The table as a pandas.DataFrame."""
    need("pandas", "pandas", "frame()")
    return table.to_pandas()


def to_polars(table: Any) -> Any:
    """The table as a polars.DataFrame."""
    return need("polars", "polars", "polars()").from_arrow(table)


def participants_table(participants: Sequence[replay_pb2.Participant]) -> pyarrow.Table:
    """A table of participants. Fields that are absent are null."""
    arrow = need("pyarrow", "arrow", "a table")
    text, number = arrow.string(), arrow.int32()
    finish = arrow.struct([("tick", number), ("time", number)])
    schema = arrow.schema([
        ("client_id", number), ("names", arrow.list_(text)), ("name_requested", arrow.bool_()), ("clan", text), ("country", number),
        ("from_tick", number), ("enter_tick", number), ("to_tick", number), ("leave_reason", text), ("carried_over", arrow.bool_()),
        ("reclaimed_client_id", number), ("roles", arrow.list_(text)), ("teams", arrow.list_(number)), ("finishes", arrow.list_(finish)),
        ("finish_count", number), ("connection_ids", arrow.list_(text)), ("connection_pseudonyms", arrow.list_(text)),
    ])
    rows: list[dict[str, object]] = []
    for participant in participants:
        row: dict[str, object] = {}
        message: Message = participant
        for field in participant.DESCRIPTOR.fields:
            value = getattr(participant, field.name)
            if field.name == "finishes":
                value = [{"tick": f.tick, "time": f.time} for f in value]
            elif not isinstance(value, (str, int)):
                value = list(value)
            elif field.has_presence and not message.HasField(field.name):
                value = None
            row[field.name] = value
        rows.append(row)
    return arrow.Table.from_pylist(rows, schema=schema)
