"""The state of a demo's entities over time as a wide table."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from itertools import chain
from typing import TYPE_CHECKING, Any

from ._tables import Collector, Table, _decoded, _is_runs, need
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
        for table in map(Table, batch.tables):
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
        parts = sorted(self._parts.items(), key=lambda part: part[0][0] == "entity_deleted")  # these come last
        tables = [(kind, arrow.Table.from_batches([table for _, table in of])) for (kind, _), of in parts]
        batches = np.repeat(*np.array([(number, len(table)) for _, of in parts for number, table in of]).T)

        def joined(name: str) -> Any:
            return np.concatenate([_numbers(table[name.format(kind)]) for kind, table in tables])

        # From here on rows are ordered by slot, and for each slot as they happened. A life is that of one entity in its slot.
        where = joined("offset"), batches, joined("{}_index")
        order = np.lexsort(where)
        offset, _, slot = (column[order] for column in where)
        again = slot[1:] == slot[:-1]
        if (again & (offset[1:] == offset[:-1])).any():  # rarely, as this takes longer than all else
            order = np.lexsort((joined("index"), *where))
        serial, ticks = joined("serial")[order], joined("at_tick").astype(np.int32)[order]
        deleted = np.concatenate([np.full(len(table), kind == "entity_deleted") for kind, table in tables])[order]
        begins = np.concatenate([
            _numbers(table["full"]) if kind == "entity_entered" else np.full(len(table), kind == "entity_created") for kind, table in tables
        ])[order]  # fmt: skip
        begins[0] = True
        begins[1:] |= ~again | (serial[1:] != serial[:-1])
        changes = _Changes(self._patterns, [chunk for kind, table in tables if kind != "entity_deleted" for chunk in table["fields"].chunks])
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        changed, known = changes.known(place, begins)
        rows: Any = slice(None)
        if self._every is None:
            rows = np.flatnonzero(changed)
            rows = rows[np.argsort(ticks[rows], kind="stable")]
        at = order[rows]
        classes = arrow.concat_arrays([chunk for _, table in tables for chunk in table["class"].chunks])
        made: dict[str, Any] = {
            "entity": arrow.array(slot[rows].astype(np.uint32)), "serial": arrow.array(serial[rows].astype(np.uint32)),
            "class": classes.dictionary.take(arrow.array(classes.indices.to_numpy()[at])),
        }  # fmt: skip
        for name in changes.names:
            made |= changes.columns(name, known[name][rows]) if name in known else {name: arrow.nulls(len(at))}
        if self._every is None:
            shown, times = ticks[rows], arrow.concat_arrays([_plain(table["time"]).combine_chunks() for _, table in tables]).take(arrow.array(at))
        else:
            rate = self._ticks_per_second
            held, shown = self._sampled(ticks, again, deleted)
            made = dict(zip(made, arrow.record_batch(made).take(arrow.array(held)).columns))
            times = arrow.array(shown / rate) if rate else arrow.nulls(len(shown), arrow.float64())
        result: pyarrow.Table = arrow.table({"at_tick": arrow.array(shown), "time": times} | made)
        return result

    def _sampled(self, ticks: Any, again: Any, deleted: Any) -> tuple[Any, Any]:
        """The rows that hold at the sampled ticks, and these ticks, in their order."""
        np, every = self._numpy, self._every
        first = np.maximum(ticks, 0)
        until = np.full(len(ticks), max(first.max(), self._last) + 1)  # the tick from which on the row no longer holds
        until[:-1][again] = first[1:][again]  # a slot that is used again ends the life before, if that was not told
        until[deleted] = first[deleted]
        begin = -(-first // every)
        counts = np.maximum(-(-until // every) - begin, 0)
        ends = np.cumsum(counts)
        samples = np.arange(ends[-1], dtype=np.int32) + np.repeat((begin - ends + counts).astype(np.int32), counts)
        ordered = np.argsort(samples, kind="stable")
        return np.repeat(np.arange(len(ticks)), counts)[ordered], samples[ordered] * every


def _plain(column: Any) -> Any:
    return _decoded(column) if _is_runs(column.type) else column


def _numbers(column: Any, missing: int = -1) -> Any:
    """The values of a column."""
    plain = _plain(column)
    return (plain.fill_null(missing) if plain.null_count else plain).to_numpy()


class _Changes:
    """The changes of fields, numbered as they come, from 1 on: 0 is none."""

    def __init__(self, patterns: Sequence[str], lists: Sequence[Any]) -> None:
        """lists have a list of changes for each row."""
        self._arrow = need("pyarrow", "arrow", "entities()")
        self._compute = need("pyarrow.compute", "arrow", "entities()")
        self._numpy = np = need("numpy", "arrow", "entities()")
        self._parts = [of.values for of in lists]
        self._values: dict[str, Any] = {}
        begins = [of.offsets.to_numpy() for of in lists]
        self._counts = np.concatenate([of[1:] - of[:-1] for of in begins])
        names, cases = (self._arrow.concat_arrays([part.field(name) for part in self._parts]) for name in ("field", "value_case"))
        codes, known = names.indices.to_numpy(), cases.dictionary.to_pylist()
        width = len(known) + 1  # the last is of changes to a value that is not known
        cases = codes * width + _numbers(cases.indices, len(known))
        counts = np.bincount(cases, minlength=len(names.dictionary) * width).reshape(-1, width).tolist()
        found = dict(zip(names.dictionary.to_pylist(), counts))
        matching = [sorted(name for name in found if fnmatchcase(name, pattern)) or [pattern] for pattern in patterns]
        self.names = [*dict.fromkeys(chain.from_iterable(matching))]
        """The names of the fields in the order of the patterns, and those of one pattern by name. A pattern without fields stands for itself."""
        self._kinds = {name: {case for case, count in zip(known, found[name]) if count} for name in self.names if name in found}
        numbers = {name: number for number, name in enumerate(self._kinds)}
        self._numbers = np.array([numbers.get(name, -1) for name in found], np.int64)[codes]  # -1 is a field that nobody asked for

    def known(self, place: Any, begins: Any) -> tuple[Any, dict[str, Any]]:
        """Which rows have changes, and for each field the number of the change that each row has its value of: the last one of its life.
        place is that of each row in their order, and begins says which ones of the ordered rows begin a life."""
        np = self._numpy
        last = np.zeros((len(self._kinds) + 1, len(place)), np.int32)  # the last row, -1, is of fields that nobody asked for
        at = self._numbers * len(place) + np.repeat(place[: len(self._counts)], self._counts)
        last.ravel()[at] = np.arange(1, len(at) + 1, dtype=np.int32)
        last = last[:-1]
        told = last != 0
        changed = told.any(axis=0)
        since = np.flatnonzero(told | begins)
        until = np.concatenate([since[1:], [last.size]])
        return changed, dict(zip(self._kinds, np.repeat(last.ravel()[since], until - since).reshape(last.shape)))

    def columns(self, name: str, source: Any) -> dict[str, Any]:
        """The columns of a field: one, or for vectors one for each coordinate. source are the numbers of the changes that have the rows'
        values."""
        arrow, compute = self._arrow, self._compute
        at, kinds = arrow.array(source), self._kinds[name]

        def of(case: str) -> Any:
            if case not in self._values:
                parts = [part.field(case) for part in self._parts]
                self._values[case] = arrow.concat_arrays([arrow.nulls(1, parts[0].type), *parts])
            return self._values[case].take(at)

        if kinds == {"vector"}:
            vectors = of("vector")
            return {f"{name}.{axis.name}": values for axis, values in zip(vectors.type, vectors.flatten())}
        if len(kinds) == 1:
            return {name: of(*kinds)}
        if not kinds or not kinds <= _NUMBERS | {"text"}:
            return {name: arrow.nulls(len(source))}
        kind = arrow.string() if "text" in kinds else arrow.float64() if "float" in kinds else arrow.int64()
        return {name: compute.coalesce(*(of(case).cast(kind) for case in sorted(kinds)))}


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
