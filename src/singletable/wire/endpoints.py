"""Where requests go: a host and its port, with or without TLS, and the region that signatures name."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from msgspec import Struct

from singletable.errors import InvalidRequest, NotConfigured
from singletable.wire.chain import AwsChain
from singletable.wire.doors import Door
from singletable.wire.services import Service

LOCAL_REGION = "us-east-1"
"""For a local engine when no region is said: it only has to be the same each time."""

# Longest prefix first where one begins another. From botocore's partitions.json, 1.44.
_DOMAINS = (
    ("cn-", "amazonaws.com.cn"),
    ("us-isob-", "sc2s.sgov.gov"),
    ("us-isof-", "csp.hci.ic.gov"),
    ("us-iso-", "c2s.ic.gov"),
    ("eu-isoe-", "cloud.adc-e.uk"),
    ("eusc-", "amazonaws.eu"),
    ("", "amazonaws.com"),
)
_REGION = re.compile(r"[a-z0-9-]{1,63}", re.IGNORECASE)
_REGION_IN_HOST = re.compile(r"https://[a-z]+\.([a-z0-9-]+)\.(?:amazonaws\.|api\.aws)")
_REGION_HINT = "Pass region=, set AWS_REGION, or give your AWS profile one (that needs singletable[aws])"


class Endpoint(Struct, frozen=True):
    """One address of one service."""

    host: str
    port: int
    tls: bool
    region: str
    is_local: bool = False
    """On this machine's loopback: any signature will do."""
    door: Door | None = None
    """Where connections are handed out, for a service that can't be connected to by host and port."""

    @property
    def authority(self) -> str:
        """The Host header: with the port where it isn't the scheme's own."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.tls else 80) else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        if self.door is not None:
            return self.door.url
        return f"{'https' if self.tls else 'http'}://{self.authority}"


Locate = Callable[[Service, str], Endpoint]
"""Where a service is: at an URL, or without one where the database's target has it."""


def locator(engine: str, *, environ: Mapping[str, str], region: str | None = None) -> Locate:
    """Where the other services are for a database whose target is `engine`."""

    def locate(service: Service, url: str) -> Endpoint:
        if not url:
            return endpoint_for(engine, environ=environ, region=region, service=service.host)
        named = _REGION_IN_HOST.match(url)
        return _from_url(_origin(url), environ, named[1] if named else region)

    return locate


def beside(endpoint: Endpoint) -> Locate:
    """The other services at the endpoint's own address, as local engines have them, or at their URLs."""
    if endpoint.door is not None:
        return behind(endpoint)
    return locator(endpoint.url, environ={}, region=endpoint.region)


def behind(endpoint: Endpoint) -> Locate:
    """The other services through the endpoint's own door, or at their URLs."""
    elsewhere = locator("", environ={}, region=endpoint.region)
    return lambda service, url: elsewhere(service, url) if url else endpoint


def endpoint_behind(door: Door, *, environ: Mapping[str, str], region: str | None = None) -> Endpoint:
    """The endpoint of an engine behind a door. Raises `InvalidRequest` for what can't be a region."""
    region = region or environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION") or LOCAL_REGION
    return Endpoint("localhost", 80, False, region_for(environ, region), True, door)


def endpoint_for(
    engine: str, *, environ: Mapping[str, str], region: str | None = None, service: str = "dynamodb"
) -> Endpoint:
    """The endpoint of `"aws"`, or of an URL such as `http://127.0.0.1:8000`.

    For `"aws"`, AWS_ENDPOINT_URL_DYNAMODB and AWS_ENDPOINT_URL come before the region's own address, as in AWS's tools.
    `service` is the host's first part: `dynamodb`, `streams.dynamodb`, `sqs`.

    Raises `NotConfigured` without a region, `InvalidRequest` for what is neither.
    """
    url = engine if engine != "aws" else _configured_url(environ, service)
    if url is not None:
        return _from_url(url, environ, region)
    region = region_for(environ, region)
    domain = next(domain for prefix, domain in _DOMAINS if region.startswith(prefix))
    return Endpoint(f"{service}.{region}.{domain}", 443, True, region)


def region_for(environ: Mapping[str, str], region: str | None = None) -> str:
    """The region given, else of AWS_REGION, AWS_DEFAULT_REGION or the AWS profile.

    Raises `NotConfigured` without one, `InvalidRequest` for what can't be one.
    """
    found = region or environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION")
    if not found:
        found = AwsChain(environ, missing="There is no AWS region in the environment", hint=_REGION_HINT).region()
    if not found:
        raise NotConfigured("There is no AWS region", hint=_REGION_HINT)
    # It becomes a part of the host that gets signed requests, so it may not bring a host of its own.
    if not _REGION.fullmatch(found):
        raise InvalidRequest(f"{found!r} is not the name of a region", hint="Write it like eu-central-1")
    return found


def _configured_url(environ: Mapping[str, str], service: str) -> str | None:
    if environ.get("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "").lower() == "true":
        return None
    variable = {"dynamodb": "DYNAMODB", "streams.dynamodb": "DYNAMODB_STREAMS"}.get(service, service.upper())
    return environ.get(f"AWS_ENDPOINT_URL_{variable}") or environ.get("AWS_ENDPOINT_URL") or None


def _origin(url: str) -> str:
    """An URL without its path: a queue's name is the path of its URL."""
    return "/".join(url.split("/")[:3])


def _from_url(url: str, environ: Mapping[str, str], region: str | None) -> Endpoint:
    from urllib.parse import urlsplit  # noqa: PLC0415 3 ms, for an address only: never for "aws"

    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError:
        port = -1
    bare = parts.path in ("", "/") and not parts.query and parts.username is None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == -1 or not bare:
        # The text itself may hold a password, so it isn't repeated.
        raise InvalidRequest(
            'The engine is neither "aws" nor an address', hint="Write it like http://127.0.0.1:8000, without a path"
        )
    tls = parts.scheme == "https"
    local = _is_loopback(parts.hostname)
    if local:
        region = region or environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION") or LOCAL_REGION
    return Endpoint(parts.hostname, port or (443 if tls else 80), tls, region_for(environ, region), local)


def _is_loopback(host: str) -> bool:
    from ipaddress import ip_address  # noqa: PLC0415 as urllib.parse brings it

    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
