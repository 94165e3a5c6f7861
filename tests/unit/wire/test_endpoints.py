"""Addresses and regions."""

from __future__ import annotations

from pathlib import Path

import pytest

from singletable import errors
from singletable.wire import Endpoint, endpoint_for, region_for

EU = {"AWS_REGION": "eu-central-1"}


@pytest.mark.parametrize(
    ("region", "host"),
    [
        ("eu-central-1", "dynamodb.eu-central-1.amazonaws.com"),
        ("us-gov-west-1", "dynamodb.us-gov-west-1.amazonaws.com"),
        ("cn-north-1", "dynamodb.cn-north-1.amazonaws.com.cn"),
        ("us-iso-east-1", "dynamodb.us-iso-east-1.c2s.ic.gov"),
        ("us-isob-east-1", "dynamodb.us-isob-east-1.sc2s.sgov.gov"),
        ("eusc-de-east-1", "dynamodb.eusc-de-east-1.amazonaws.eu"),
    ],
)
def test_of_aws(region: str, host: str) -> None:
    endpoint = endpoint_for("aws", environ={}, region=region)
    assert endpoint == Endpoint(host, 443, True, region, region_from="`region=`")
    assert (endpoint.authority, endpoint.url) == (host, f"https://{host}")


@pytest.mark.parametrize(
    ("environ", "origin"),
    [
        ({"AWS_REGION": "eu-west-1"}, "AWS_REGION"),
        ({"AWS_REGION": "eu-west-1", "AWS_DEFAULT_REGION": "eu-west-2"}, "AWS_DEFAULT_REGION"),
        ({"AWS_PROFILE": "shop"}, "the AWS profile shop"),
    ],
)
def test_the_origin_of_the_region(environ: dict[str, str], origin: str, tmp_path: Path) -> None:
    (tmp_path / "config").write_text("[profile shop]\nregion = eu-west-1\n")
    environ = environ | {"AWS_CONFIG_FILE": str(tmp_path / "config")}
    assert endpoint_for("aws", environ=environ).region_from == origin
    assert endpoint_for("aws", environ=environ, region="eu-west-3").region_from == "`region=`"
    assert endpoint_for("http://127.0.0.1:8000", environ=environ).region_from == ""


def test_other_services_of_aws() -> None:
    assert endpoint_for("aws", environ=EU, service="streams.dynamodb").host == (
        "streams.dynamodb.eu-central-1.amazonaws.com"
    )


@pytest.mark.parametrize(
    ("url", "authority", "tls", "local"),
    [
        ("http://127.0.0.1:8000", "127.0.0.1:8000", False, True),
        ("http://localhost", "localhost", False, True),
        ("http://[::1]:8000/", "[::1]:8000", False, True),
        ("https://example.com", "example.com", True, False),
        ("https://example.com:8443", "example.com:8443", True, False),
        ("http://dynamodb:8000", "dynamodb:8000", False, False),
        ("https://engine.localhost:65535", "engine.localhost:65535", True, True),
        ("http://127.0.0.2", "127.0.0.2", False, True),
        ("http://127.0.0.300:8000", "127.0.0.300:8000", False, False),
    ],
)
def test_of_an_address(url: str, authority: str, tls: bool, local: bool) -> None:
    endpoint = endpoint_for(url, environ=EU)
    assert (endpoint.authority, endpoint.tls, endpoint.is_local) == (authority, tls, local)
    assert endpoint.url == url.rstrip("/")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "AWS",
        "localhost:8000",
        "ftp://a",
        "http://",
        "http://a/path",
        "http://a:port",
        "http://a:65536",
        "http://u:pw@a",
    ],
)
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(errors.InvalidRequest) as raised:
        endpoint_for(text, environ=EU)
    assert "pw" not in str(raised.value)


def test_aws_own_variables_come_first() -> None:
    both = EU | {"AWS_ENDPOINT_URL": "http://all:1", "AWS_ENDPOINT_URL_DYNAMODB": "http://one:2"}
    assert endpoint_for("aws", environ=both).authority == "one:2"
    assert endpoint_for("aws", environ=EU | {"AWS_ENDPOINT_URL": "http://all:1"}).authority == "all:1"
    ignored = both | {"AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true"}
    assert endpoint_for("aws", environ=ignored).host == "dynamodb.eu-central-1.amazonaws.com"


def test_regions() -> None:
    assert region_for({"AWS_REGION": "a", "AWS_DEFAULT_REGION": "b"}, "c") == "c"
    assert region_for({"AWS_REGION": "a", "AWS_DEFAULT_REGION": "b"}) == "b"
    assert region_for({"AWS_REGION": "a"}) == "a"
    assert region_for({"AWS_DEFAULT_REGION": "b"}) == "b"
    assert endpoint_for("http://127.0.0.1:8000", environ={}).region == "us-east-1"


@pytest.mark.parametrize("text", ["eu.evil.example/", "eu central", "a@b", "eu\r\nX: y", "é"])
def test_a_region_cannot_bring_a_host_of_its_own(text: str) -> None:
    with pytest.raises(errors.InvalidRequest, match="region"):
        endpoint_for("aws", environ={}, region=text)


def test_without_a_region() -> None:
    with pytest.raises(errors.NotConfigured, match="AWS_REGION"):
        endpoint_for("aws", environ={})
