"""TLS: certificates are always verified, against the system's authorities or those of a file.

Reading the system's authorities takes about 25 ms, and importing `ssl` another 5. The first connection does both, so a
program with a local engine never pays for them, and a client is created faster.
"""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from singletable.errors import NotConfigured
from singletable.wire.endpoints import Endpoint

if TYPE_CHECKING:
    import ssl


def tls_for(endpoint: Endpoint, ca_file: str | None) -> Tls | None:
    """The TLS of an endpoint; None for plain HTTP. Raises `NotConfigured` for a file that can't be used."""
    return Tls(ca_file or endpoint.ca_file) if endpoint.tls else None


class Tls:
    """The TLS settings of one endpoint. Threads may share it."""

    def __init__(self, ca_file: str | None) -> None:
        # A file is read at once, so that its errors are raised where it was named.
        self._context = None if ca_file is None else _load(ca_file)

    @property
    def context(self) -> ssl.SSLContext:
        context = self._context
        if context is None:
            # Two threads may both create one: either context will do.
            context = self._context = _load(None)
        return context

    def wrap(self, connected: socket.socket, host: str) -> ssl.SSLSocket:
        """Raises OSError."""
        return self.context.wrap_socket(connected, server_hostname=host)


def would_block_errors(tls: Tls | None) -> tuple[type[OSError], ...]:
    """The errors of a connection that doesn't block, where a call would have to wait."""
    if tls is None:
        return (BlockingIOError,)
    import ssl  # noqa: PLC0415 see above

    return ssl.SSLWantReadError, ssl.SSLWantWriteError


def is_untrusted(fault: OSError) -> bool:
    """Whether the certificate was refused."""
    import ssl  # noqa: PLC0415 see above

    return isinstance(fault, ssl.SSLCertVerificationError)


def _load(ca_file: str | None) -> ssl.SSLContext:
    import ssl  # noqa: PLC0415 see above

    try:
        return ssl.create_default_context(cafile=ca_file)
    except OSError as fault:
        raise NotConfigured(
            f"The authorities in {ca_file} can't be used: {fault.strerror or fault}",
            hint="Give a PEM file as ca_file, or as AWS_CA_BUNDLE",
        ) from fault
