"""Random expressions select the events that this file selects by itself from the whole stream. REPLAYD_WHERE says how many."""

from __future__ import annotations

import json
import math
import os
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from conftest import Daemon
from google.protobuf.descriptor import Descriptor, FieldDescriptor

import replayd
from replayd.options.v1 import options_pb2
from replayd.v1 import filter_pb2

Outcome = bool | None
"""What an expression says of an event. None is neither true nor false."""


@dataclass
class Context:
    event: Any
    """An Event."""
    message: Any
    """The message of the kind, or an element."""


@dataclass
class Condition:
    text: str
    of: Callable[[Context], Outcome]


class Absent(Exception):
    pass


NUMBERS = (FieldDescriptor.CPPTYPE_INT32, FieldDescriptor.CPPTYPE_INT64, FieldDescriptor.CPPTYPE_UINT32)
REALS = (FieldDescriptor.CPPTYPE_FLOAT, FieldDescriptor.CPPTYPE_DOUBLE)
RELATIONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
}  # fmt: skip


def is_ref(field: FieldDescriptor) -> bool:
    return bool(field.GetOptions().Extensions[options_pb2.string_index])


def textual(field: FieldDescriptor) -> bool:
    return field.type in (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_ENUM) or is_ref(field)


def native(field: FieldDescriptor, value: Any, strings: Sequence[str]) -> Any:
    if is_ref(field):
        return strings[value]
    if field.enum_type is not None:
        named = field.enum_type.values_by_number.get(value)
        return named.name if named is not None else str(value)
    return value


def get(c: Context, path: Sequence[FieldDescriptor]) -> Any:
    """The value of a field. It raises Absent for one that is not there."""
    value: Any = c.message
    for field in path:
        if field.has_presence and not value.HasField(field.name):
            raise Absent
        value = getattr(value, field.name)
    return native(path[-1], value, c.event.strings)


def has(c: Context, path: Sequence[FieldDescriptor]) -> bool:
    value: Any = c.message
    for field in path:
        if field.has_presence and not value.HasField(field.name):
            return False
        value = getattr(value, field.name)
    return path[-1].has_presence or bool(c.event.strings[value] if is_ref(path[-1]) else value)


def literal(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, int) and value >= 1 << 63:
        return f"{value}u"
    return repr(value)


def compare(path: Sequence[FieldDescriptor], test: Callable[[Any], bool]) -> Callable[[Context], Outcome]:
    def of(c: Context) -> Outcome:
        try:
            return test(get(c, path))
        except Absent:
            return None

    return of


def sample(r: random.Random, examples: Sequence[Context], path: Sequence[FieldDescriptor], otherwise: Any) -> Any:
    try:
        return get(r.choice(examples), path)
    except Absent:
        return otherwise


def simple(r: random.Random, name: str, of: Descriptor, examples: Sequence[Context]) -> Condition | None:
    """A condition on a field of a message."""
    path: list[FieldDescriptor] = []
    while True:
        if not of.fields or of.full_name == "google.protobuf.Timestamp":
            return None
        field = r.choice(of.fields)
        path.append(field)
        if field.is_repeated:
            return repeated(r, name, path, examples)
        text = ".".join([name, *(f.name for f in path)])
        if r.random() < 0.1:
            return Condition(f"has({text})", lambda c: has(c, path))
        if field.message_type is None:
            break
        of = field.message_type
    if textual(field):
        value = sample(r, examples, path, "a")
        part = value[: r.randint(0, 6)]
        return r.choice([
            Condition(f"{text} == {literal(value)}", compare(path, lambda v: bool(v == value))),
            Condition(f"{literal(value)} != {text}", compare(path, lambda v: bool(v != value))),
            Condition(f"{text} in [{literal(value)}, 'x']", compare(path, lambda v: v in (value, "x"))),
            Condition(f"{text}.startsWith({literal(part)})", compare(path, lambda v: bool(v.startswith(part)))),
            Condition(f"{text}.contains({literal(part)})", compare(path, lambda v: part in v)),
            Condition(f"size({text}) > {len(value)}", compare(path, lambda v: len(v) > len(value))),
        ])  # fmt: skip
    if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
        return r.choice([Condition(text, compare(path, bool)), Condition(f"{text} == false", compare(path, lambda v: not v))])
    relation = r.choice(list(RELATIONS))
    if field.cpp_type in (*NUMBERS, *REALS, FieldDescriptor.CPPTYPE_UINT64):
        number = sample(r, examples, path, 0)
        if isinstance(number, float) and not math.isfinite(number):
            number = 0.5
        if field.cpp_type in NUMBERS and r.random() < 0.3 and number:
            return Condition(
                f"{text} + 3 {relation} {number + 3}", compare(path, lambda v: RELATIONS[relation](v, number))
            )
        return Condition(f"{text} {relation} {literal(number)}", compare(path, lambda v: RELATIONS[relation](v, number)))
    return None


def repeated(r: random.Random, name: str, path: list[FieldDescriptor], examples: Sequence[Context]) -> Condition | None:
    """A condition on a list."""
    field = path[-1]
    text = ".".join([name, *(f.name for f in path)])

    def elements(c: Context) -> list[Any]:
        value: Any = c.message
        for f in path[:-1]:
            if f.has_presence and not value.HasField(f.name):
                raise Absent
            value = getattr(value, f.name)
        return list(getattr(value, field.name))

    some = []
    for c in r.sample(examples, min(5, len(examples))):
        try:
            some += elements(c)
        except Absent:
            continue
    if r.random() < 0.3 or not some:
        n = r.randint(0, 3)

        def sized(c: Context) -> Outcome:
            try:
                return len(elements(c)) > n
            except Absent:
                return None

        return Condition(f"size({text}) > {n}", sized)
    if field.message_type is None:
        if field.cpp_type in REALS or field.type == FieldDescriptor.TYPE_BYTES:
            return None
        value = native(field, r.choice(some), examples[0].event.strings) if not is_ref(field) else "a"

        def holds(c: Context) -> Outcome:
            try:
                return value in [native(field, v, c.event.strings) for v in elements(c)]
            except Absent:
                return None

        return Condition(f"{literal(value)} in {text}", holds)
    if name != "event":
        return None  # one within another
    inner = simple(r, "x", field.message_type, [Context(examples[0].event, m) for m in some])
    if inner is None or any(f.is_repeated for f in path[:-1]):
        return None
    every = r.random() < 0.3

    def quantified(c: Context) -> Outcome:
        try:
            outcomes = [inner.of(Context(c.event, m)) for m in elements(c)]
        except Absent:
            return None
        if (not every) in outcomes:
            return not every
        return None if None in outcomes else every

    return Condition(f"{text}.{'all' if every else 'exists'}(x, {inner.text})", quantified)


def common(r: random.Random, kind: str, examples: Sequence[Context]) -> Condition:
    e = r.choice(examples).event
    return r.choice([
        Condition(f"at_tick >= {e.tick}", lambda c: c.event.tick >= e.tick),
        Condition(f"offset < {e.offset}", lambda c: c.event.offset < e.offset),
        Condition(f"index == {e.index}", lambda c: c.event.index == e.index),
        Condition(f"kind != '{kind}'", lambda c: c.event.kind != kind),
    ])  # fmt: skip


def condition(r: random.Random, kind: str, examples: Sequence[Context], depth: int = 0) -> Condition:
    form = r.random()
    if depth < 3 and form < 0.6:
        a, b = condition(r, kind, examples, depth + 1), condition(r, kind, examples, depth + 1)

        def both(c: Context) -> Outcome:
            outcomes = (a.of(c), b.of(c))
            return False if False in outcomes else None if None in outcomes else True

        def either(c: Context) -> Outcome:
            outcomes = (a.of(c), b.of(c))
            return True if True in outcomes else None if None in outcomes else False

        def negated(c: Context) -> Outcome:
            outcome = a.of(c)
            return None if outcome is None else not outcome

        return r.choice([
            Condition(f"({a.text} && {b.text})", both), Condition(f"({a.text} || {b.text})", either),
            Condition(f"!({a.text})", negated),
        ])  # fmt: skip
    if form < 0.7:
        return common(r, kind, examples)
    return simple(r, "event", examples[0].message.DESCRIPTOR, examples) or common(r, kind, examples)


# There is no map here for these kinds.
NEED_MAP = (
    "sample_character", "sample_shot", "fact_freeze", "fact_thaw", "fact_hit", "fact_hook", "fact_block", "fact_character_end", "fact_run",
)


def test_random_expressions(daemon: Daemon) -> None:
    count, r = int(os.environ.get("REPLAYD_WHERE", "60")), random.Random(int(os.environ.get("REPLAYD_SEED", "1")))
    names = ["dem/sample.dem", "dem/cs2.dem", "dem/deadlock.dem", "sc2replay/5.0.SC2Replay", "datafile/sample.map"]
    names.append(next(p.relative_to(daemon.root).as_posix() for p in (daemon.root / "teehistorian/finished").glob("*.teehistorian")))
    refused = selected = 0
    with replayd.connect(daemon.address) as client:
        replays = []
        for name in names:
            plain = list(client.events(f"r/{name}", max_batch_events=1))
            kinds = [f.name for f in plain[0].event.DESCRIPTOR.oneofs_by_name["kind"].fields]
            derived = [k for k in kinds if k.startswith(("fact_", "sample_")) and k not in NEED_MAP]
            include = [filter_pb2.EventFilter(), *([filter_pb2.EventFilter(kinds=derived)] if derived else [])]
            by_kind: dict[str, list[Context]] = {}
            events = list(client.events(f"r/{name}", include=include))
            for e in events:
                by_kind.setdefault(e.kind, []).append(Context(e, e.value))
            replays.append((f"r/{name}", include, [c for e in events for c in [Context(e, e.value)]], by_kind))
        for i in range(count):
            name, include, everything, by_kind = replays[i % len(replays)]
            where = ""
            while not where or where.count(".all(") + where.count(".exists(") > 4:  # no more are allowed
                chosen = {kind: condition(r, kind, by_kind[kind]) for kind in r.sample(list(by_kind), min(2, len(by_kind)))}
                where = " || ".join(f"kind == '{kind}' && {c.text}" for kind, c in chosen.items())
            want = [
                (n, c.event.offset, c.event.index, c.event.kind)
                for n, c in enumerate(c for c in everything if c.event.kind in chosen and chosen[c.event.kind].of(c))
            ]
            try:
                got = [(e.sequence, e.offset, e.index, e.kind) for e in client.events(name, include=include, where=where)]
            except replayd.ReplaydError as error:
                assert "can meet it" in str(error) and not want, f"{name}: {where}: {error}; want {len(want)} events"
                refused += 1
                continue
            assert got == want, f"{name}: {where}: {len(got)} events, want {len(want)}"
            selected += bool(got)
    assert selected > count / 4 and refused < count / 4, f"{selected} of {count} select events, {refused} are refused"
