"""Connections: address, TLS, token."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import grpc
import grpc.aio

if TYPE_CHECKING:
    from .aio import AsyncClient
    from .client import Client

TLS = bool | str | os.PathLike[str] | grpc.ChannelCredentials
"""False: no TLS. True: TLS that trusts the system's certificate authorities. A path: TLS that trusts the certificates in that
PEM file. Credentials: used as given, for example with a client certificate."""

OPTIONS = [
    # Reconnect soon after the daemon restarts: it is Retry that delays. The minimum is the time that connecting may take.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 10_000),
    ("grpc.max_reconnect_backoff_ms", 1000),
    # See "Dead connections" in clients/README.md. grpc would stop after two pings without data.
    ("grpc.keepalive_time_ms", 12_000),
    ("grpc.keepalive_timeout_ms", 8_000),
    ("grpc.http2.max_pings_without_data", 0),
]
BLOCKING = [*OPTIONS, ("SingleThreadedUnaryStream", 1)]
"""Streams without a thread of their own, which would pass each response on."""


def connect(address: str, *, tls: TLS = False, token: str | None = None) -> Client:
    """Returns a client of the daemon at an address such as "localhost:7171".

    It sends nothing before the first call. Use a token only with TLS, except for a daemon on this machine.
    """
    from .client import Client

    credentials = _credentials(tls)
    if credentials is None:
        channel = grpc.insecure_channel(address, options=BLOCKING)
    else:
        channel = grpc.secure_channel(address, credentials, options=BLOCKING)
    return Client(channel, metadata(token))


def connect_async(address: str, *, tls: TLS = False, token: str | None = None) -> AsyncClient:
    """The same as connect, for asyncio. Call it inside the event loop that will use the client."""
    from .aio import AsyncClient

    credentials = _credentials(tls)
    if credentials is None:
        channel = grpc.aio.insecure_channel(address, options=OPTIONS)
    else:
        channel = grpc.aio.secure_channel(address, credentials, options=OPTIONS)
    return AsyncClient(channel, metadata(token))


def _credentials(tls: TLS) -> Any:
    if tls is False:
        return None
    if tls is True:
        return grpc.ssl_channel_credentials()
    if isinstance(tls, (str, os.PathLike)):
        with open(tls, "rb") as file:
            return grpc.ssl_channel_credentials(root_certificates=file.read())
    return tls


def metadata(token: str | None) -> tuple[tuple[str, str], ...]:
    """The gRPC metadata of each call."""
    return (("authorization", f"Bearer {token}"),) if token else ()
