"""Arrays of the packed fields of a message. Decoding their wire bytes with numpy is several times as fast as creating a Python
number for each element."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

if TYPE_CHECKING:
    from numpy.typing import NDArray

_DTYPES = {
    FieldDescriptor.CPPTYPE_INT32: "int32",
    FieldDescriptor.CPPTYPE_INT64: "int64",
    FieldDescriptor.CPPTYPE_UINT32: "uint32",
    FieldDescriptor.CPPTYPE_UINT64: "uint64",
    FieldDescriptor.CPPTYPE_FLOAT: "float32",
    FieldDescriptor.CPPTYPE_DOUBLE: "float64",
    FieldDescriptor.CPPTYPE_BOOL: "bool",
    FieldDescriptor.CPPTYPE_ENUM: "int32",
}

# Types whose elements are little-endian numbers of a fixed size instead of varints.
_FIXED = {
    FieldDescriptor.TYPE_FLOAT: "<f4",
    FieldDescriptor.TYPE_DOUBLE: "<f8",
    FieldDescriptor.TYPE_FIXED32: "<u4",
    FieldDescriptor.TYPE_FIXED64: "<u8",
    FieldDescriptor.TYPE_SFIXED32: "<i4",
    FieldDescriptor.TYPE_SFIXED64: "<i8",
}

_ZIGZAG = {FieldDescriptor.TYPE_SINT32, FieldDescriptor.TYPE_SINT64}

_LENGTH_DELIMITED = 2


def packed(message: Message) -> dict[int, memoryview]:
    """The wire bytes of the fields of a message, by number. All its fields must be packed."""
    data = memoryview(message.SerializeToString())
    fields: dict[int, memoryview] = {}
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        if tag & 7 != _LENGTH_DELIMITED:
            break  # an unknown field; unknown fields are serialized after all known ones
        length, at = _varint(data, at)
        fields[tag >> 3] = data[at : at + length]
        at += length
    return fields


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def array(field: FieldDescriptor, values: memoryview | bytes | Sequence[Any]) -> NDArray[Any]:
    """A numpy array of a repeated field. values are its packed wire bytes or its elements."""
    import numpy

    dtype = _DTYPES[field.cpp_type]
    if not isinstance(values, (memoryview, bytes)):
        return numpy.array(values, dtype=dtype)
    if field.type in _FIXED:
        return numpy.frombuffer(values, _FIXED[field.type]).astype(dtype)
    numbers = _varints(values)
    if field.type in _ZIGZAG:
        signed = numbers.dtype.name.removeprefix("u")
        numbers = (numbers >> 1).view(signed) ^ -(numbers & 1).view(signed)
    result: NDArray[Any] = numbers.astype(dtype, copy=False)
    return result


def _varints(data: memoryview | bytes) -> Any:
    """The varints in data, as unsigned numbers."""
    import numpy

    octets: Any = numpy.frombuffer(data, numpy.uint8)
    ends = numpy.flatnonzero(octets < 0x80)
    if len(ends) == len(octets):
        return octets.astype(numpy.uint32)
    more = numpy.diff(ends, prepend=-1) - 1  # the number of octets of each varint before its last one
    longest = int(more.max())
    wide: Any = numpy.uint64 if longest >= 4 else numpy.uint32  # negative numbers without zigzag have ten octets
    numbers = octets[ends].astype(wide)
    for i in range(1, longest + 1):  # the last octet has the highest bits
        longer = (numbers << wide(7)) | (octets[ends - i] & 0x7F)
        numbers = numpy.where(more >= i, longer, numbers)
    return numbers
