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
"""False: plain text. True: TLS, trusting the system's authorities. A path: TLS, trusting the certificates of that PEM
file. Credentials: as given, for client certificates say."""

_OPTIONS = [
    # A daemon that was restarted is found again soon.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 1000),
    ("grpc.max_reconnect_backoff_ms", 5000),
    # A dead connection is noticed also while nothing is streamed. The daemon allows a ping every 10 s.
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 20_000),
]


def connect(address: str, *, tls: TLS = False, token: str | None = None) -> Client:
    """Returns a client of the daemon at an address such as "localhost:7171".

    Nothing is sent before the first call. The token needs TLS, but for a daemon on this machine.
    """
    from .client import Client

    credentials = _credentials(tls)
    if credentials is None:
        channel = grpc.insecure_channel(address, options=_OPTIONS)
    else:
        channel = grpc.secure_channel(address, credentials, options=_OPTIONS)
    return Client(channel, metadata(token))


def connect_async(address: str, *, tls: TLS = False, token: str | None = None) -> AsyncClient:
    """The same as connect, for asyncio. Call it inside the event loop that will use the client."""
    from .aio import AsyncClient

    credentials = _credentials(tls)
    if credentials is None:
        channel = grpc.aio.insecure_channel(address, options=_OPTIONS)
    else:
        channel = grpc.aio.secure_channel(address, credentials, options=_OPTIONS)
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
    """What each call carries."""
    return (("authorization", f"Bearer {token}"),) if token else ()
