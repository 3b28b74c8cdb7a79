"""The state of a demo's entities over time as a wide table."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from ._tables import Collector, need, tables_of
from .v1 import stream_pb2

if TYPE_CHECKING:
    import pyarrow

_NUMBERS = {"int", "uint", "float", "bool", "handle"}
"""The cases of a value that are numbers. A field whose values have several of these is a column of numbers."""


class _Field:
    """The values of one field: of which rows, of which case, and an array for each case."""

    def __init__(self) -> None:
        self.rows: list[Any] = []
        self.cases: list[Any] = []
        self.values: list[Any] = []


class EntityCollector:
    """Collects the tables of entities, and makes the wide table of them."""

    def __init__(self, fields: Sequence[str], every: int | None) -> None:
        if every is not None and every < 1:
            raise ValueError(f"every is {every}, must be 1 or more")
        self._arrow = need("pyarrow", "arrow", "entities()")
        self._compute = need("pyarrow.compute", "arrow", "entities()")
        self._numpy = need("numpy", "arrow", "entities()")
        self._patterns = list(fields)
        self._every = every
        self._rows = 0
        self._batches = 0
        self._parts: list[dict[str, Any]] = []
        self._fields: dict[str, _Field] = {}
        self._ticks_per_second = 0.0
        self._last = 0  # tick of the replay, if it was read to the end

    def take(self, response: stream_pb2.StreamEventsResponse) -> None:
        """Adds the tables of a response."""
        if response.HasField("start"):
            self._ticks_per_second = response.start.replay.ticks_per_second
            return
        if response.HasField("end"):
            if response.end.reason != stream_pb2.END_REASON_RANGE_DONE:
                self._last = response.end.last_tick
            return
        self._batches += 1
        batch = response.state if response.HasField("state") else response.batch
        for table in tables_of(batch).values():
            if len(table) > 0:  # others tell the columns of kinds without events
                self._take(table.kind, table.arrow())

    def _take(self, kind: str, batch: Any) -> None:
        np = self._numpy
        n = batch.num_rows

        def numbers(name: str) -> Any:
            column = batch.column(name)
            # Offset and index are missing in a state, which is a batch of its own.
            return (column.fill_null(-1) if column.null_count else column).to_numpy(zero_copy_only=False)

        deleted = kind == "entity_deleted"
        full = numbers("full") if kind == "entity_entered" else np.full(n, kind == "entity_created")
        self._parts.append({
            "batch": np.full(n, self._batches), "offset": numbers("offset"), "index": numbers("index"),
            "at_tick": numbers("at_tick"), "entity": numbers(f"{kind}_index"), "serial": numbers("serial"),
            "class": batch.column("class").cast(self._arrow.string()), "time": batch.column("time"),
            "starts": full.astype(bool), "deleted": np.full(n, deleted),
        })  # fmt: skip
        if not deleted:
            self._take_fields(batch.column("fields"))
        self._rows += n

    def _take_fields(self, lists: Any) -> None:
        np = self._numpy
        changes = lists.flatten()
        parents = self._compute.list_parent_indices(lists).to_numpy() + self._rows
        names = changes.field("field")
        codes = names.indices.to_numpy(zero_copy_only=False)
        for code, name in enumerate(names.dictionary.to_pylist()):
            if not any(fnmatchcase(name, pattern) for pattern in self._patterns):
                continue
            at = np.flatnonzero(codes == code)
            if len(at) == 0:
                continue
            field = self._fields.setdefault(name, _Field())
            field.rows.append(parents[at])
            some = changes.take(self._arrow.array(at))
            field.cases.append(some.field("value_case").cast(self._arrow.string()))
            field.values.append({f.name: some.field(f.name) for f in some.type})

    def table(self) -> pyarrow.Table:
        """The wide table, ordered by tick and entity."""
        np, arrow = self._numpy, self._arrow
        if not self._parts:
            types = [("at_tick", arrow.int32()), ("time", arrow.float64()), ("entity", arrow.uint32()), ("serial", arrow.uint32())]
            fields = [(name, arrow.null()) for name in self._patterns]
            empty: pyarrow.Table = arrow.schema([*types, ("class", arrow.string()), *fields]).empty_table()
            return empty
        whole = {
            name: (np.concatenate if isinstance(self._parts[0][name], np.ndarray) else arrow.concat_arrays)(
                [part[name] for part in self._parts]
            )
            for name in self._parts[0]
        }
        # From here on rows are ordered by slot, and for each slot as they happened. A life is that of one entity in its slot.
        order = np.lexsort((whole["index"], whole["offset"], whole["batch"], whole["entity"]))
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        slot, serial = whole["entity"][order], whole["serial"][order]
        begins = whole["starts"][order].copy()
        begins[0] = True
        begins[1:] |= (slot[1:] != slot[:-1]) | (serial[1:] != serial[:-1])
        begin = np.maximum.accumulate(np.where(begins, np.arange(len(order)), 0))
        columns, changed = {}, np.zeros(len(order), bool)
        for name, field in self._fields.items():
            rows = place[np.concatenate(field.rows)]
            changed[rows] = True
            # The value of a row is that of the last row of its life that has one.
            last = np.full(len(order), -1)
            last[rows] = rows
            last = np.maximum.accumulate(last)
            source = np.full(len(order), -1)
            source[rows] = np.arange(len(rows))
            source = np.where(last >= begin, source[last], -1)
            for column, values in self._columns(name, field):
                columns[column] = (values, source)
        deleted = whole["deleted"][order]
        ticks = whole["at_tick"][order]
        if self._every is None:
            picked = np.flatnonzero(changed & ~deleted)
            shown = ticks[picked]
            times = whole["time"].take(arrow.array(order[picked]))
        else:
            picked, shown = self._sampled(ticks, slot, deleted)
            rate = self._ticks_per_second
            times = arrow.array(shown / rate if rate else [None] * len(shown), arrow.float64())
        result = {
            "at_tick": arrow.array(shown, arrow.int32()), "time": times,
            "entity": arrow.array(slot[picked], arrow.uint32()), "serial": arrow.array(serial[picked], arrow.uint32()),
            "class": whole["class"].take(arrow.array(order[picked])),
        }  # fmt: skip
        for column, (values, source) in columns.items():
            at = source[picked]
            result[column] = values.take(arrow.array(at, mask=at < 0))
        for pattern in self._patterns:
            if not any(fnmatchcase(name, pattern) for name in self._fields):
                result[pattern] = arrow.nulls(len(picked))
        made = arrow.table(result).take(arrow.array(np.lexsort((slot[picked], shown))))
        return made

    def _sampled(self, ticks: Any, slot: Any, deleted: Any) -> tuple[Any, Any]:
        """The rows that hold at the sampled ticks, and these ticks."""
        np, every = self._numpy, self._every
        first = np.maximum(ticks, 0)
        until = np.full(len(ticks), max(first.max(), self._last) + 1)  # the tick from which on the row no longer holds
        same = slot[1:] == slot[:-1]  # a slot that is used again ends the life before, if that was not told
        until[:-1][same] = first[1:][same]
        until[deleted] = first[deleted]
        begin, end = -(-first // every), -(-until // every)
        counts = np.maximum(end - begin, 0)
        picked = np.repeat(np.arange(len(ticks)), counts)
        nth = np.arange(len(picked)) - np.repeat(np.cumsum(counts) - counts, counts)
        return picked, (begin[picked] + nth) * every

    def _columns(self, name: str, field: _Field) -> list[tuple[str, Any]]:
        """The columns of a field: one, or for vectors one for each coordinate."""
        arrow, compute = self._arrow, self._compute
        cases = arrow.concat_arrays(field.cases)
        kinds = set(compute.unique(cases).to_pylist()) - {None}

        def of(case: str) -> Any:
            return arrow.concat_arrays([values[case] for values in field.values])

        if kinds == {"vector"}:
            vectors = of("vector")
            return [(f"{name}.{axis.name}", compute.struct_field(vectors, axis.name)) for axis in vectors.type]
        if len(kinds) == 1:
            return [(name, of(kinds.pop()))]
        if kinds <= _NUMBERS:
            kind = arrow.float64() if "float" in kinds else arrow.int64()
            return [(name, compute.coalesce(*(of(case).cast(kind) for case in sorted(kinds))))]
        if not kinds:
            return [(name, arrow.nulls(len(cases)))]
        texts = [compute.coalesce(*(of(case).cast(arrow.string()) for case in sorted(kinds & (_NUMBERS | {"text"}))))]
        return [(name, texts[0])] if kinds <= _NUMBERS | {"text"} else [(name, arrow.nulls(len(cases)))]


class SampleCollector(Collector):
    """Collects the daemon's samples of entities, and makes the wide table of them."""

    def __init__(self, fields: Sequence[str]) -> None:
        super().__init__("sample_entity", None, True)
        self._fields = fields

    def table(self) -> pyarrow.Table:
        """The wide table, ordered by tick and entity."""
        whole = super().table()
        if not whole.num_rows:
            return EntityCollector(self._fields, None).table()
        result = {"at_tick": whole["at_tick"], "time": whole["time"], "entity": whole["sample_entity_index"], "serial": whole["serial"]}
        result["class"] = whole["class"].cast(self._arrow.string())
        for name in self._fields:
            column = whole[name]
            if self._arrow.types.is_struct(column.type):
                axes = zip((axis.name for axis in column.type), column.combine_chunks().flatten())
                result.update((f"{name}.{axis}", values) for axis, values in axes)
            else:
                result[name] = column
        made: pyarrow.Table = self._arrow.table(result)
        return made
