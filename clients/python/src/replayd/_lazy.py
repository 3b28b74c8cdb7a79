"""StreamEventsResponse, in which the events are bytes: a program that counts events, or takes few, need not wait until all are parsed."""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from .v1 import stream_pb2


def _declared() -> type[stream_pb2.StreamEventsResponse]:
    """The class of a message that is equal to StreamEventsResponse on the wire, and has its members but for the events of batches."""
    of = stream_pb2.DESCRIPTOR
    file = descriptor_pb2.FileDescriptorProto(name="replayd/lazy.proto", package="replayd.lazy", syntax="proto3")
    file.dependency.extend([of.name, *(other.name for other in of.dependencies)])
    names = ("EventBatch", "StateBatch", "StreamEventsResponse")
    for name in names:
        message = file.message_type.add()
        of.message_types_by_name[name].CopyToProto(message)
        for field in message.field:
            if field.type_name.endswith(".EventList"):
                field.type = descriptor_pb2.FieldDescriptorProto.TYPE_BYTES
                field.ClearField("type_name")
            elif field.type_name.removeprefix(".replayd.v1.") in names:
                field.type_name = field.type_name.replace(".v1.", ".lazy.")
    pool = descriptor_pool.Default()
    pool.AddSerializedFile(file.SerializeToString())
    made: Any = message_factory.GetMessageClass(pool.FindMessageTypeByName("replayd.lazy.StreamEventsResponse"))
    return made  # type: ignore[no-any-return]


Response = _declared()
