"""The state of a demo's entities over time as a wide table."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NamedTuple

from ._tables import Collector, _decoded, _is_runs, need, tables_of
from .v1 import stream_pb2

if TYPE_CHECKING:
    import pyarrow

_NUMBERS = {"int", "uint", "float", "bool", "handle"}
"""The cases of a value that are numbers. A field whose values have several of these is a column of numbers."""


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
        self._batches = 0
        self._parts: dict[tuple[str, bytes], list[tuple[int, Any]]] = {}
        """The tables of a kind with the same schema, and the numbers of their responses."""
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
                self._parts.setdefault((table.kind, table.message.schema), []).append((self._batches, table._read()))

    def table(self) -> pyarrow.Table:
        """The wide table, ordered by tick and entity."""
        np, arrow = self._numpy, self._arrow
        if all(kind == "entity_deleted" for kind, _ in self._parts):
            types = [("at_tick", arrow.int32()), ("time", arrow.float64()), ("entity", arrow.uint32()), ("serial", arrow.uint32())]
            fields = [(name, arrow.null()) for name in dict.fromkeys(self._patterns)]
            empty: pyarrow.Table = arrow.schema([*types, ("class", arrow.string()), *fields]).empty_table()
            return empty
        parts: list[dict[str, Any]] = []
        lists: list[Any] = []
        for (kind, _), batches in sorted(self._parts.items(), key=lambda part: part[0][0] == "entity_deleted"):  # these come last
            numbers, tables = zip(*batches)
            part = arrow.Table.from_batches(tables)  # only columns that are needed are joined and widened
            if kind != "entity_deleted":
                lists += part["fields"].chunks
            parts.append(self._rows(kind, part) | {"batch": np.repeat(numbers, [table.num_rows for table in tables])})
        whole = {
            name: (np.concatenate if isinstance(parts[0][name], np.ndarray) else arrow.concat_arrays)([part[name] for part in parts])
            for name in parts[0]
        }
        changes = _Changes(self._patterns, arrow.chunked_array(lists))
        # From here on rows are ordered by slot, and for each slot as they happened. A life is that of one entity in its slot.
        order = np.lexsort((whole["index"], whole["offset"], whole["batch"], whole["slot"]))
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        slot, serial = whole["slot"][order], whole["serial"][order]
        begins = whole["starts"][order].copy()
        begins[0] = True
        begins[1:] |= (slot[1:] != slot[:-1]) | (serial[1:] != serial[:-1])
        first = np.flatnonzero(begins)
        begin = np.repeat(first, np.diff(first, append=len(order)))
        sources, changed = {}, np.zeros(len(order), bool)
        for name in changes.fields:
            rows = place[changes.fields[name].rows]
            changed[rows] = True
            sources[name] = source = np.full(len(order), -1)
            source[rows] = np.arange(len(rows))
            # The value of a row is that of the last row of its life that has one.
            having = np.flatnonzero(source >= 0)
            last = np.repeat(having, np.diff(having, append=len(order)))
            source[having[0] :] = np.where(last >= begin[having[0] :], source[last], -1)
        deleted = whole["deleted"][order]
        ticks = whole["at_tick"][order]
        if self._every is None:
            rows = np.flatnonzero(changed & ~deleted)
            rows = rows[np.argsort(ticks[rows], kind="stable")]
        else:
            rows = np.arange(len(order))
        at = arrow.array(order[rows])
        made: dict[str, Any] = {
            "entity": arrow.array(slot[rows], arrow.uint32()), "serial": arrow.array(serial[rows], arrow.uint32()),
            "class": whole["class"].take(at).cast(arrow.string()),
        }  # fmt: skip
        for name in changes.names():
            if name in sources:
                made |= changes.columns(name, sources[name][rows])
            else:
                made[name] = arrow.nulls(len(rows))
        if self._every is None:
            shown, times = ticks[rows], whole["time"].take(at)
        else:
            rate = self._ticks_per_second
            held, shown = self._sampled(ticks, slot, deleted)
            made = dict(zip(made, arrow.record_batch(made).take(arrow.array(held)).columns))
            times = arrow.array(shown / rate) if rate else arrow.nulls(len(shown), arrow.float64())
        result: pyarrow.Table = arrow.table({"at_tick": arrow.array(shown, arrow.int32()), "time": times} | made)
        return result

    def _rows(self, kind: str, part: Any) -> dict[str, Any]:
        """The properties of the rows of a part."""
        np = self._numpy

        def plain(name: str) -> Any:
            return _decoded(part[name]) if _is_runs(part[name].type) else part[name]

        def numbers(name: str) -> Any:
            column = plain(name)
            # Offset and index are missing in a state, which is a batch of its own.
            return (column.fill_null(-1) if column.null_count else column).to_numpy()

        n = part.num_rows
        starts = numbers("full").astype(bool) if kind == "entity_entered" else np.full(n, kind == "entity_created")
        return {
            "offset": numbers("offset"), "index": numbers("index"), "at_tick": numbers("at_tick").astype(np.int32), "slot": numbers(f"{kind}_index"),
            "serial": numbers("serial"), "class": part["class"].combine_chunks(), "time": plain("time").combine_chunks(),
            "starts": starts, "deleted": np.full(n, kind == "entity_deleted"),
        }  # fmt: skip

    def _sampled(self, ticks: Any, slot: Any, deleted: Any) -> tuple[Any, Any]:
        """The rows that hold at the sampled ticks, and these ticks, in their order."""
        np, every = self._numpy, self._every
        first = np.maximum(ticks, 0)
        until = np.full(len(ticks), max(first.max(), self._last) + 1)  # the tick from which on the row no longer holds
        same = slot[1:] == slot[:-1]  # a slot that is used again ends the life before, if that was not told
        until[:-1][same] = first[1:][same]
        until[deleted] = first[deleted]
        begin = -(-first // every)
        counts = np.maximum(-(-until // every) - begin, 0)
        ends = np.cumsum(counts)
        samples = np.arange(ends[-1], dtype=np.int32) + np.repeat((begin - ends + counts).astype(np.int32), counts)
        ordered = np.argsort(samples, kind="stable")
        return np.repeat(np.arange(len(ticks)), counts)[ordered], samples[ordered] * every


class _Field(NamedTuple):
    """The changes of one field: their numbers, the rows that they are in, and the cases of their values."""

    changes: Any
    rows: Any
    kinds: set[str]


class _Changes:
    """The changes of fields, numbered as they come."""

    def __init__(self, patterns: Sequence[str], lists: Any) -> None:
        """lists has a list of changes for each row."""
        self._arrow = need("pyarrow", "arrow", "entities()")
        self._compute = need("pyarrow.compute", "arrow", "entities()")
        np = need("numpy", "arrow", "entities()")
        self._patterns = patterns
        self._parts = [chunk.flatten() for chunk in lists.chunks]
        self._values: dict[str, Any] = {}
        self.fields: dict[str, _Field] = {}
        rows = self._compute.list_parent_indices(lists).to_numpy()
        names, cases = self._all("field"), self._all("value_case")
        codes, known = names.indices.to_numpy(), cases.dictionary.to_pylist()
        ordered = np.argsort(codes, kind="stable")
        width = len(known) + 1  # the last is of changes to a value that is not known
        cases = codes * width + cases.indices.fill_null(len(known)).to_numpy()
        counts = np.bincount(cases, minlength=len(names.dictionary) * width).reshape(-1, width)
        ends = np.cumsum(counts.sum(axis=1))
        for name, begin, end, of in zip(names.dictionary.to_pylist(), (0, *ends), ends, counts.tolist()):
            if begin < end and any(fnmatchcase(name, pattern) for pattern in patterns):
                at = ordered[begin:end]
                self.fields[name] = _Field(at, rows[at], {case for case, count in zip(known, of) if count})

    def names(self) -> list[str]:
        """The names of the fields in the order of the patterns, and those of one pattern by name. A pattern without fields stands for itself."""
        ordered: dict[str, None] = {}
        for pattern in self._patterns:
            ordered.update(dict.fromkeys(sorted(name for name in self.fields if fnmatchcase(name, pattern)) or [pattern]))
        return [*ordered]

    def columns(self, name: str, source: Any) -> dict[str, Any]:
        """The columns of a field: one, or for vectors one for each coordinate. source are the numbers of its changes that have the values of
        the rows, -1 of rows without."""
        arrow, compute = self._arrow, self._compute
        changes, kinds = self.fields[name].changes, self.fields[name].kinds
        without = source < 0
        at = arrow.array(changes[source], mask=without if without.any() else None)

        def of(case: str, kind: Any) -> Any:
            return self._all(case).take(at).cast(kind)

        if kinds == {"vector"}:
            vectors = self._all("vector")
            return {f"{name}.{axis.name}": compute.struct_field(vectors, axis.name).take(at) for axis in vectors.type}
        if len(kinds) == 1:
            return {name: self._all(*kinds).take(at)}
        if not kinds or not kinds <= _NUMBERS | {"text"}:
            return {name: arrow.nulls(len(source))}
        kind = arrow.string() if "text" in kinds else arrow.float64() if "float" in kinds else arrow.int64()
        return {name: compute.coalesce(*(of(case, kind) for case in sorted(kinds)))}

    def _all(self, case: str) -> Any:
        """The values of all changes that are of a case."""
        if case not in self._values:
            self._values[case] = self._arrow.concat_arrays([part.field(case) for part in self._parts])
        return self._values[case]


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
