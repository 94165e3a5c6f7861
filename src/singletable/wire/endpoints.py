"""Endpoints: a host and its port, with or without TLS, and the region for signatures."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct, structs

from singletable.errors import InvalidRequest, NotConfigured
from singletable.flow import Service
from singletable.wire.hosts import EndpointKind, account_host, host_of
from singletable.wire.retry import RetryPolicy
from singletable.wire.settings import AwsSettings

if TYPE_CHECKING:
    from singletable.wire.proxies import Proxy
    from singletable.wire.unix_sockets import SocketBroker
else:
    Proxy = SocketBroker = Any  # help() evaluates them; few programs have one

LOCAL_REGION = "us-east-1"
"""The region of a local engine if none is configured: it only has to be the same each time."""

_LABEL = r"[A-Za-z0-9-]{1,63}"
"""A part of a host's name: a region, an account."""
_PLAIN_URL = r"(https?)://([a-z0-9.-]+)(?::([0-9]{1,5}))?/?"
_MAX_PORT = 65535
_REGION_IN_HOST = r"https://[a-z]+\.([a-z0-9-]+)\.(?:amazonaws\.|api\.aws)"
_REGION_HINT = "Pass region=, set AWS_REGION, or give your AWS profile one"


class Endpoint(Struct, frozen=True):
    """One address of one service."""

    host: str
    port: int
    tls: bool
    region: str
    is_local: bool = False
    """On this machine's loopback, where any signature is accepted."""
    broker: SocketBroker | None = None
    """The broker that passes connections, for a service that can't be reached by host and port."""
    ca_file: str | None = None
    """The certificate authorities that the environment names."""
    proxy: Proxy | None = None
    region_from: str = ""
    """Where the region is set; empty where nothing sets it."""

    @property
    def peer(self) -> tuple[str, int]:
        """The host and port to which a connection is opened."""
        return (self.host, self.port) if self.proxy is None else (self.proxy.host, self.proxy.port)

    @property
    def authority(self) -> str:
        """The Host header, with the port unless it is the scheme's default."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.tls else 80) else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        if self.broker is not None:
            return self.broker.url
        return f"{'https' if self.tls else 'http'}://{self.authority}"


Locate = Callable[[Service, str], Endpoint]
"""Locates a service: at a URL, or without one at the database's target."""


def locator(engine: str, *, environ: Mapping[str, str], region: str | None = None) -> Locate:
    """Locates the other services of a database whose target is `engine`.

    The environment decides how a queue with an AWS URL is reached, possibly by another host.
    """

    def locate(service: Service, url: str) -> Endpoint:
        named = re.match(_REGION_IN_HOST, url)
        if not url or (engine == "aws" and named):
            found = endpoint_for(engine, environ=environ, region=named[1] if named else region, service=service.host)
            return structs.replace(found, region_from="its URL") if named else found
        return _from_url(_origin(url), AwsSettings(environ), named[1] if named else region)

    return locate


def beside(endpoint: Endpoint) -> Locate:
    """Locates the other services at the endpoint's own address or broker, as with local engines, or at their URLs."""

    def locate(service: Service, url: str) -> Endpoint:
        named = re.match(_REGION_IN_HOST, url)
        return _from_url(_origin(url), AwsSettings({}), named[1] if named else endpoint.region) if url else endpoint

    return locate


def endpoint_at(broker: SocketBroker, *, environ: Mapping[str, str], region: str | None = None) -> Endpoint:
    """The endpoint of an engine behind a broker. Raises `InvalidRequest` for an invalid region."""
    region = region or environ.get("AWS_DEFAULT_REGION") or environ.get("AWS_REGION") or LOCAL_REGION
    return Endpoint("localhost", 80, False, region_for(environ, region), True, broker)


def endpoint_for(
    engine: str,
    *,
    environ: Mapping[str, str],
    region: str | None = None,
    service: str = "dynamodb",
    account: str | None = None,
) -> Endpoint:
    """The endpoint of `"aws"`, or of a URL such as `http://127.0.0.1:8000`.

    For `"aws"` the environment and its AWS profile decide: a custom endpoint URL, the kind of endpoint, the proxy and
    the certificate authorities. `service` is the host's first part: `dynamodb`, `streams.dynamodb`, `sqs`; `account` is
    the id of the credentials' account, if it is known.

    Raises `NotConfigured` without a region and for settings that can't be followed, `InvalidRequest` for any other
    text.
    """
    settings = AwsSettings(environ)
    if engine != "aws":
        return _from_url(engine, settings, region)
    url = settings.endpoint_url(_NAMES.get(service, service))
    if url is not None:
        return _from_url(url, settings, region)
    region, region_from = _region_of(settings, region)
    if region == "local" and service in _NAMES:
        return _from_url("http://localhost:8000", settings, region)
    kind = _kind_of(settings)
    host = host_of(service, region, kind)
    if service == "dynamodb":
        host = _host_of_account(settings, account, region, kind) or host
    return _reached(Endpoint(host, 443, True, region, region_from=region_from), settings)


_NAMES = {"dynamodb": "dynamodb", "streams.dynamodb": "dynamodb_streams"}
"""The services' names in settings, where they differ from those in hosts."""


def region_for(environ: Mapping[str, str], region: str | None = None) -> str:
    """The given region, or that of AWS_DEFAULT_REGION, AWS_REGION or the AWS profile.

    Raises `NotConfigured` without one, `InvalidRequest` for an invalid one.
    """
    return _region_of(AwsSettings(environ), region)[0]


def retry_policy_for(environ: Mapping[str, str]) -> RetryPolicy:
    """The library's policy, with the attempts of AWS_MAX_ATTEMPTS or of the AWS profile."""
    attempts = AwsSettings(environ).count("AWS_MAX_ATTEMPTS", "max_attempts")
    return RetryPolicy() if attempts is None else RetryPolicy(attempts=attempts)


def _region_of(settings: AwsSettings, region: str | None) -> tuple[str, str]:
    """The region, and where it is set."""
    name, origin = (region, "`region=`") if region else settings.region
    if not name:
        raise NotConfigured("the AWS region is not set", hint=_REGION_HINT)
    # It becomes part of the host that gets signed requests, so it must not contain another host.
    if not re.fullmatch(_LABEL, name):
        raise InvalidRequest(f"{name!r} is not the name of a region", hint="Write it like eu-central-1")
    return name, origin


def _kind_of(settings: AwsSettings) -> EndpointKind:
    return EndpointKind(
        settings.flag("AWS_USE_FIPS_ENDPOINT", "use_fips_endpoint"),
        settings.flag("AWS_USE_DUALSTACK_ENDPOINT", "use_dualstack_endpoint"),
    )


def _host_of_account(settings: AwsSettings, account: str | None, region: str, kind: EndpointKind) -> str | None:
    mode = settings.account_mode
    required = mode == "required"
    account = account or (settings.environ.get("AWS_ACCOUNT_ID") if required else None)
    if mode == "disabled" or not (account or required):
        return None
    if not account or not re.fullmatch(_LABEL, account):
        raise NotConfigured(
            "AWS_ACCOUNT_ID_ENDPOINT_MODE is required, and the account id is unknown"
            if not account
            else "AWS_ACCOUNT_ID is not the id of an account",
            hint="Set AWS_ACCOUNT_ID to the account of the credentials, or the mode to preferred",
        )
    return account_host(account, region, kind, required=required)


def _reached(endpoint: Endpoint, settings: AwsSettings) -> Endpoint:
    """The endpoint with the certificate authorities and the proxy that the environment names."""
    environ = settings.environ
    if endpoint.is_local and not endpoint.tls:
        return endpoint
    ca_file = settings.text("AWS_CA_BUNDLE", "ca_bundle") or environ.get("REQUESTS_CA_BUNDLE") if endpoint.tls else None
    if endpoint.is_local:
        return structs.replace(endpoint, ca_file=ca_file or None)
    from singletable.wire.proxies import proxy_for  # noqa: PLC0415 a local engine needs no proxy

    proxy = proxy_for(environ, "https" if endpoint.tls else "http", endpoint.authority)
    return structs.replace(endpoint, ca_file=ca_file or None, proxy=proxy)


def _origin(url: str) -> str:
    """A URL without its path: a queue's name is the path of its URL."""
    return "/".join(url.split("/")[:3])


def _from_url(url: str, settings: AwsSettings, region: str | None) -> Endpoint:
    scheme, host, port = _parts_of(url)
    tls, local = scheme == "https", _is_loopback(host)
    if local:
        environ = settings.environ
        region = region or environ.get("AWS_DEFAULT_REGION") or environ.get("AWS_REGION") or LOCAL_REGION
    elif _kind_of(settings) != EndpointKind():
        raise NotConfigured(
            "AWS_USE_FIPS_ENDPOINT and AWS_USE_DUALSTACK_ENDPOINT choose among AWS's own endpoints, and another "
            "address is named",
            hint='Unset them, or connect to "aws" without an endpoint URL',
        )
    name, region_from = _region_of(settings, region)
    endpoint = Endpoint(host, port or (443 if tls else 80), tls, name, local, region_from="" if local else region_from)
    return _reached(endpoint, settings)


def _parts_of(url: str) -> tuple[str, str, int]:
    """The scheme, the host and the port of an address, 0 for the scheme's own; InvalidRequest for any other text."""
    plain = re.fullmatch(_PLAIN_URL, url)
    if plain is not None and int(plain[3] or 0) <= _MAX_PORT:
        return plain[1], plain[2], int(plain[3] or 0)
    from urllib.parse import urlsplit  # noqa: PLC0415 3 ms, for an address with more than a name and a port

    parts = urlsplit(url)
    try:
        port = parts.port or 0
    except ValueError:
        port = -1
    bare = parts.path in ("", "/") and not parts.query and parts.username is None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == -1 or not bare:
        # The text may contain a password, so the error doesn't repeat it.
        raise InvalidRequest(
            'The engine is neither "aws" nor an address', hint="Write it like http://127.0.0.1:8000, without a path"
        )
    return parts.scheme, parts.hostname, port


def _is_loopback(host: str) -> bool:
    if host in ("127.0.0.1", "localhost") or host.endswith(".localhost"):
        return True
    if not host.startswith("127.") and ":" not in host:
        return False
    from ipaddress import ip_address  # noqa: PLC0415 1 ms, for an address in numbers

    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
