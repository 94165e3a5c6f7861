"""How TLS is checked: always, against the system's authorities or those of a file."""

from __future__ import annotations

import ssl

from singletable.errors import NotConfigured
from singletable.wire.endpoints import Endpoint


def tls_context(endpoint: Endpoint, ca_file: str | None) -> ssl.SSLContext | None:
    """None for plain HTTP. Raises `NotConfigured` for a file that can't be used. Takes about 15 ms."""
    if not endpoint.tls:
        return None
    try:
        return ssl.create_default_context(cafile=ca_file)
    except OSError as fault:
        raise NotConfigured(
            f"The authorities in {ca_file} can't be used: {fault.strerror or fault}", hint="Give a PEM file as ca_file"
        ) from fault
