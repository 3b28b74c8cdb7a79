"""What can go wrong, as exceptions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import grpc
from google.rpc import error_details_pb2, status_pb2

from .v1 import error_pb2

_DETAILS = "grpc-status-details-bin"
_DOMAIN = "replayd.dev"


class ReplaydError(Exception):
    """A call failed.

    `code` is the gRPC status code. `reason` is a name of ErrorReason (proto/replayd/v1/error.proto) without its prefix,
    such as "REPLAY_NOT_FOUND"; it is empty when the failure was not the daemon's own. `metadata` may hold "replay",
    "format", "offset", "tick" and "incident". `fields` maps names of request fields to what is wrong with them.
    """

    def __init__(
        self,
        code: grpc.StatusCode,
        message: str,
        reason: str = "",
        metadata: Mapping[str, str] | None = None,
        fields: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.reason = reason
        self.metadata = dict(metadata or {})
        self.fields = dict(fields or {})
        self.retry_after: float | None = None
        """Seconds after which the daemon asks to be tried again, when it does."""
        self.cursor = b""
        """Of a stream that failed: the cursor behind the last event that was sent. Empty when no event was sent."""

    def explain(self, reason: str, metadata: Mapping[str, str]) -> None:
        """Takes note of what the daemon itself says."""
        self.reason = reason
        self.metadata = dict(metadata)

    def __str__(self) -> str:
        return f"{self.reason or self.code.name}: {self.message}"


class SequenceError(Exception):
    """Events are missing, or came twice. It points to a defect."""


def from_grpc(error: grpc.RpcError) -> ReplaydError:
    """Turns what grpc raises into a ReplaydError."""
    call: Any = error  # what grpc raises is also a call, which its types do not say
    result = ReplaydError(call.code(), call.details() or "")
    for detail in _details(call.trailing_metadata() or ()):
        info = error_details_pb2.ErrorInfo()
        bad = error_details_pb2.BadRequest()
        retry = error_details_pb2.RetryInfo()
        resume = error_pb2.ResumeInfo()
        if detail.Unpack(info) and info.domain == _DOMAIN:
            result.explain(info.reason, info.metadata)
        elif detail.Unpack(bad):
            result.fields.update((v.field, v.description) for v in bad.field_violations)
        elif detail.Unpack(retry):
            result.retry_after = retry.retry_delay.ToTimedelta().total_seconds()
        elif detail.Unpack(resume):
            result.cursor = resume.cursor
    return result


def _details(metadata: Iterable[tuple[str, str | bytes]]) -> Iterable[Any]:
    for key, value in metadata:
        if key == _DETAILS and isinstance(value, bytes):
            return status_pb2.Status.FromString(value).details  # type: ignore[no-any-return]
    return ()
