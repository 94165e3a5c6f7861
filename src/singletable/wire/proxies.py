"""HTTP proxies: which one the environment names for a host, and the tunnel through it.

For a host with TLS the proxy opens a tunnel (CONNECT), and sees the host's name but no request. Only for a host without
TLS does the proxy receive the request itself.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from singletable.errors import NotConfigured
from singletable.wire.exchange import Undelivered

_LONGEST_HEAD = 65536
_REFUSALS = range(400, 500)
_AGREED = range(200, 300)


class Proxy(Struct, frozen=True):
    """Its address and its credentials, which the repr hides."""

    host: str
    port: int
    authorization: str = ""
    """The header's value; empty if the address names no user."""

    def __repr__(self) -> str:
        return f"Proxy({self.address})"

    @property
    def address(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @property
    def header(self) -> str:
        """The header line with the credentials, or nothing."""
        return f"Proxy-Authorization: {self.authorization}\r\n" if self.authorization else ""

    def asks_for(self, host: str, port: int) -> bytes:
        """The request for a tunnel."""
        place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        return f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n{self.header}\r\n".encode()

    def agreed(self, answer: bytes) -> bool:
        """Whether the tunnel is open; False for an incomplete answer. Raises `Undelivered`."""
        head, end, rest = answer.partition(b"\r\n\r\n")
        if not end:
            if len(answer) > _LONGEST_HEAD:
                raise Undelivered(f"the proxy at {self.address} sent an endless answer")
            return False
        words = head.split(b"\r\n")[0].split(b" ")
        status = int(words[1]) if len(words) > 1 and words[0].startswith(b"HTTP/1.") and words[1].isdigit() else 0
        if status in _AGREED and not rest:
            return True
        said = f"answered {status}" if status else "did not answer in HTTP"
        raise Undelivered(f"the proxy at {self.address} {said} to CONNECT", refused=status in _REFUSALS)


def proxy_for(environ: Mapping[str, str], scheme: str, authority: str) -> Proxy | None:
    """The proxy that HTTPS_PROXY or HTTP_PROXY names for a host, unless NO_PROXY names the host.

    Names in lower case go first. Raises `NotConfigured` for a proxy that isn't one of plain HTTP.
    """
    name = f"{scheme}_proxy"
    if name == "http_proxy" and "REQUEST_METHOD" in environ:
        text = environ.get(name)  # of a CGI program, in which a client's header could set the other one
    else:
        text = _either(environ, name)
    if not text or _is_excepted(_either(environ, "no_proxy") or "", authority):
        return None
    return _proxy_at(text, name.upper())


def _either(environ: Mapping[str, str], name: str) -> str | None:
    return environ.get(name, environ.get(name.upper()))


def _is_excepted(no_proxy: str, authority: str) -> bool:
    """True for `*`, the host's name, or a suffix of it, with or without the port; addresses are compared as texts."""
    if no_proxy.strip() == "*":
        return True
    places = (authority.lower(), authority.lower().rpartition(":")[0] or authority.lower())
    names = [name.strip().lstrip(".").lower() for name in no_proxy.split(",")]
    return any(place == name or place.endswith(f".{name}") for name in names if name for place in places)


def _proxy_at(text: str, variable: str) -> Proxy:
    from base64 import b64encode  # noqa: PLC0415 for a proxy only
    from urllib.parse import unquote, urlsplit  # noqa: PLC0415 as above

    try:
        parts = urlsplit(text if "://" in text else f"http://{text}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port, parts = None, None, urlsplit("")
    if parts.scheme != "http" or not host:
        # The text may hold a password, so it isn't repeated.
        raise NotConfigured(
            f"{variable} names no HTTP proxy that can be used", hint="Write it like http://user:password@proxy:3128"
        )
    shown = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
    basic = f"Basic {b64encode(shown.encode()).decode()}" if parts.username else ""
    return Proxy(host, port or 80, basic)
