"""The exceptions of the client."""

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

    `code` is the gRPC status code. `reason` is a name of ErrorReason (proto/replayd/v1/error.proto) without its prefix, such as
    "REPLAY_NOT_FOUND". It is empty if the error does not come from the daemon. `metadata` may hold "replay", "format", "offset",
    "tick" and "incident". `fields` maps the invalid fields of the request to descriptions of the problem.
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
        """How many seconds the daemon asks the client to wait before retrying. None if it does not ask."""
        self.cursor = b""
        """For a failed stream: the cursor after the last event that was sent. Empty if no event was sent."""

    def explain(self, reason: str, metadata: Mapping[str, str]) -> None:
        """Sets the reason and metadata that the daemon sent."""
        self.reason = reason
        self.metadata = dict(metadata)

    def __str__(self) -> str:
        return f"{self.reason or self.code.name}: {self.message}"


class SilentError(ReplaydError):
    """The daemon sent nothing for too long, not even a heartbeat."""

    def __init__(self, seconds: float) -> None:
        super().__init__(grpc.StatusCode.UNAVAILABLE, f"no response for {seconds:g} s")


class SequenceError(Exception):
    """Events are missing or repeated. This indicates a bug."""


def from_grpc(error: grpc.RpcError) -> ReplaydError:
    """Converts an exception of grpc to a ReplaydError."""
    call: Any = error  # the exception is also a grpc.Call, which its type does not declare
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
