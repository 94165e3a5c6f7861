"""AWS's variables and profiles: the endpoints that they lead to are botocore's, in every region and kind."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import botocore.exceptions
import botocore.loaders
import botocore.session
import pytest
from botocore.endpoint_provider import EndpointProvider

from singletable import connect, errors
from singletable.connection import find_target
from singletable.flow import SQS
from singletable.target import Options
from singletable.wire import (
    Credentials,
    Endpoint,
    RetryPolicy,
    StaticCredentials,
    endpoint_for,
    locator,
    region_for,
    retry_policy_for,
)

SERVICES = {"dynamodb": "dynamodb", "streams.dynamodb": "dynamodbstreams", "sqs": "sqs"}
KEYS = {"AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "hush"}
CONFIG = """\
[default]
region = eu-west-1
[profile mine]
region = eu-north-1
endpoint_url = https://all.example:8443
[profile "quoted name"]
region = eu-south-1
[profile fips]
region = us-east-1
use_fips_endpoint = true
[profile dual]
region = us-west-2
use_dualstack_endpoint = TRUE
[profile by-service]
region = ap-south-1
services = apart
endpoint_url = https://all.example
[services apart]
dynamodb =
  endpoint_url = https://dynamo.example
sqs =
  endpoint_url = https://queues.example:444
[profile ignoring]
region = ap-south-1
endpoint_url = https://all.example
ignore_configured_endpoint_urls = true
[profile required]
region = us-east-1
account_id_endpoint_mode = required
[profile lost]
region = us-east-1
services = nowhere
[profile many]
region = us-east-1
max_attempts = 7
ca_bundle = /nowhere/ca.pem
"""


@pytest.fixture
def environ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Mapping[str, str]]:
    """Sets the process's AWS environment, which botocore reads, to these variables; gives it."""
    (tmp_path / "config").write_text(CONFIG)
    (tmp_path / "credentials").write_text("[mine]\nregion = eu-central-2\n[only-keys]\naws_access_key_id = K\n")
    for name in list(os.environ):
        if name.startswith("AWS_") or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)

    def put(**variables: str) -> Mapping[str, str]:
        files = {"AWS_CONFIG_FILE": "config", "AWS_SHARED_CREDENTIALS_FILE": "credentials"}
        for name, value in ({name: str(tmp_path / file) for name, file in files.items()} | KEYS | variables).items():
            monkeypatch.setenv(name, value)
        return os.environ

    return put


MODELS = botocore.loaders.Loader()
"""Reads each service's model once: that takes longer than all that is done with it."""


@cache
def rules_of(service: str) -> EndpointProvider:
    rules = MODELS.load_service_model(service, "endpoint-rule-set-1")
    return EndpointProvider(rules, MODELS.load_data("partitions"))


def regions() -> list[str]:
    partitions = MODELS.load_data("partitions")["partitions"]
    known = [region for partition in partitions for region in partition["regions"] if not region.endswith("-global")]
    return [*known, "us-new-9", "eu-isoe-new-1", "xx-unheard-1"]


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize(("fips", "dual"), list(itertools.product([False, True], repeat=2)))
def test_the_hosts_are_those_of_botocore_s_rules(service: str, fips: bool, dual: bool) -> None:
    rules = rules_of(SERVICES[service])
    flags = {"AWS_USE_FIPS_ENDPOINT": str(fips), "AWS_USE_DUALSTACK_ENDPOINT": str(dual)}
    assert len(regions()) > 40
    for region in regions():
        expected = rules.resolve_endpoint(Region=region, UseFIPS=fips, UseDualStack=dual).url
        assert endpoint_for("aws", environ=flags, region=region, service=service).url == expected


@pytest.mark.parametrize("mode", ["preferred", "disabled", "required"])
@pytest.mark.parametrize(("fips", "dual"), list(itertools.product([False, True], repeat=2)))
def test_the_hosts_of_accounts_are_those_of_botocore_s_rules(mode: str, fips: bool, dual: bool) -> None:
    flags = {"AWS_USE_FIPS_ENDPOINT": str(fips), "AWS_USE_DUALSTACK_ENDPOINT": str(dual)}
    flags["AWS_ACCOUNT_ID_ENDPOINT_MODE"] = mode
    for region in regions():
        said: dict[str, Any] = {"AccountId": "123456789012", "AccountIdEndpointMode": mode}
        try:
            expected = rules_of("dynamodb").resolve_endpoint(Region=region, UseFIPS=fips, UseDualStack=dual, **said).url
        except botocore.exceptions.EndpointProviderError:
            with pytest.raises(errors.NotConfigured, match="AWS_ACCOUNT_ID_ENDPOINT_MODE"):
                endpoint_for("aws", environ=flags, region=region, account="123456789012")
        else:
            assert endpoint_for("aws", environ=flags, region=region, account="123456789012").url == expected


PROFILES = ["mine", "fips", "dual", "by-service", "ignoring", "quoted name", "nowhere", "lost", "only-keys"]
BOTH = {"AWS_REGION": "eu-west-3", "AWS_DEFAULT_REGION": "us-west-2"}
URLS = {"AWS_ENDPOINT_URL": "https://all.example:1", "AWS_ENDPOINT_URL_DYNAMODB": "https://one.example:2"}
WAYS: list[dict[str, str]] = [
    {},
    BOTH,
    {"AWS_DEFAULT_REGION": "us-west-2"},
    URLS | BOTH,
    {"AWS_ENDPOINT_URL": "https://all.example:1"} | BOTH,
    URLS | BOTH | {"AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "True"},
    {"AWS_ENDPOINT_URL_DYNAMODB_STREAMS": "https://streams.example"} | BOTH,
    {"AWS_ENDPOINT_URL_SQS": "https://sqs.example"} | BOTH,
    {"AWS_USE_FIPS_ENDPOINT": "true"} | BOTH,
    {"AWS_USE_DUALSTACK_ENDPOINT": "true"} | BOTH,
    {"AWS_ACCOUNT_ID": "123456789012"} | BOTH,
    {"AWS_ACCOUNT_ID": "123456789012", "AWS_ACCOUNT_ID_ENDPOINT_MODE": "disabled"} | BOTH,
    {"AWS_ACCOUNT_ID": "123456789012", "AWS_ACCOUNT_ID_ENDPOINT_MODE": "required"} | BOTH,
    {"AWS_ACCOUNT_ID_ENDPOINT_MODE": "required"} | BOTH,
    {"AWS_ACCOUNT_ID": "123456789012", "AWS_USE_FIPS_ENDPOINT": "true"} | BOTH,
    *[{"AWS_PROFILE": name} for name in PROFILES],
    {"AWS_PROFILE": "mine", "AWS_DEFAULT_PROFILE": "fips"},
    {"AWS_PROFILE": "by-service", "AWS_ENDPOINT_URL": "https://all.example:1"},
    {"AWS_PROFILE": "required", "AWS_ACCOUNT_ID": "123456789012"},
    {"AWS_PROFILE": "fips", "AWS_USE_FIPS_ENDPOINT": "false"},
]


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_the_endpoint_is_that_of_botocore_s_client(
    environ: Callable[..., Mapping[str, str]], way: dict[str, str], service: str
) -> None:
    said = environ(**way)
    expected = asked_by_botocore(service)
    if expected is None:
        with pytest.raises(errors.NotConfigured):
            found(service, said)
    else:
        assert found(service, said).url == expected


class _AboutToSend(Exception):
    """Instead of sending; holds the URL."""


def asked_by_botocore(service: str) -> str | None:
    """Where botocore's client, made of the process's environment, would send a request; None where it refuses to."""

    def stop(request: Any, **_: Any) -> None:
        raise _AboutToSend(request.url)

    try:
        session = botocore.session.Session()
        session.register_component("data_loader", MODELS)
        client = session.create_client(SERVICES[service])
        client.meta.events.register("before-send", stop)
        getattr(
            client, {"dynamodb": "list_tables", "streams.dynamodb": "list_streams", "sqs": "list_queues"}[service]
        )()
    except _AboutToSend as sent:
        return str(sent.args[0]).rstrip("/")
    except botocore.exceptions.BotoCoreError:
        return None
    raise AssertionError("nothing was sent")


def found(service: str, environ: Mapping[str, str]) -> Endpoint:
    if service != "dynamodb":
        return endpoint_for("aws", environ=environ, service=service)
    return find_target("aws", Options(cursor_keys=["sixteen characters"]), environ).endpoint


@pytest.mark.parametrize("flag", ["AWS_USE_FIPS_ENDPOINT", "AWS_USE_DUALSTACK_ENDPOINT"])
def test_an_address_of_your_own_and_a_kind_of_aws_s_exclude_each_other(flag: str) -> None:
    """As AWS's endpoint rules have it; botocore takes the address and leaves the flag out without a word."""
    for environ in (URLS | BOTH, {"AWS_ENDPOINT_URL": "https://all.example:1"} | BOTH):
        with pytest.raises(errors.NotConfigured, match=flag):
            endpoint_for("aws", environ=environ | {flag: "true"})
    with pytest.raises(errors.NotConfigured, match=flag):
        endpoint_for("https://a.example", environ=BOTH | {flag: "true"})
    assert endpoint_for("http://127.0.0.1:8000", environ=BOTH | {flag: "true"}).is_local


@pytest.mark.parametrize("service", ["dynamodb", "streams.dynamodb"])
def test_the_region_of_that_name_is_a_local_engine(service: str) -> None:
    found = endpoint_for("aws", environ={"AWS_DEFAULT_REGION": "local"}, service=service)
    assert (found.url, found.region, found.is_local) == ("http://localhost:8000", "local", True)


def test_both_regions_and_the_profile_s(environ: Callable[..., Mapping[str, str]]) -> None:
    assert region_for(environ(**BOTH)) == "us-west-2"
    assert region_for(environ(**BOTH), "eu-south-2") == "eu-south-2"
    assert region_for(environ(AWS_DEFAULT_REGION="")) == "eu-west-3"
    assert region_for(environ(AWS_REGION="", AWS_PROFILE="quoted name")) == "eu-south-1"
    assert region_for(environ(AWS_PROFILE="mine")) == "eu-central-2"


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("AWS_USE_FIPS_ENDPOINT", "1"),
        ("AWS_USE_DUALSTACK_ENDPOINT", "yes"),
        ("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "on"),
        ("AWS_ACCOUNT_ID_ENDPOINT_MODE", "sometimes"),
        ("AWS_MAX_ATTEMPTS", "0"),
        ("AWS_MAX_ATTEMPTS", "many"),
        ("AWS_PROFILE", "nowhere"),
    ],
)
def test_a_value_that_cannot_be_followed_is_refused_by_name(
    environ: Callable[..., Mapping[str, str]], variable: str, value: str
) -> None:
    said = environ(**BOTH, **{variable: value})
    with pytest.raises(errors.NotConfigured, match=variable):
        connect("aws", environ=said)


def test_files_that_cannot_be_read_are_named_without_their_text(
    environ: Callable[..., Mapping[str, str]], tmp_path: Path
) -> None:
    for text in (b"canary = 1", b"[a]\n[a]\ncanary", b"[default]\nregion = \xff canary"):
        (tmp_path / "config").write_bytes(text)
        with pytest.raises(errors.NotConfigured, match="config") as raised:
            region_for(environ())
        assert "canary" not in str(raised.value)
        assert "name another as AWS_CONFIG_FILE" in raised.value.hint
        assert raised.value.__cause__ is None


def test_an_environment_without_a_home_has_no_files(tmp_path: Path) -> None:
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "config").write_text("[default]\nregion = eu-west-1\n")
    assert region_for({"HOME": str(tmp_path)}) == "eu-west-1"
    (tmp_path / "other").write_text("[default]\nregion = eu-west-2\n")
    assert region_for({"HOME": str(tmp_path), "AWS_CONFIG_FILE": "~/other"}) == "eu-west-2"
    with pytest.raises(errors.NotConfigured):
        region_for({})


def test_the_attempts(environ: Callable[..., Mapping[str, str]]) -> None:
    assert retry_policy_for(environ(**BOTH)) == RetryPolicy()
    assert retry_policy_for(environ(AWS_MAX_ATTEMPTS="3")).attempts == 3
    said = environ(AWS_MAX_ATTEMPTS="3", AWS_PROFILE="many", AWS_CA_BUNDLE="")
    assert find_target("https://a.example", Options(), said).retry.attempts == 3
    assert find_target("https://a.example", Options(retry=RetryPolicy(attempts=4)), said).retry.attempts == 4
    assert find_target("http://127.0.0.1:8000", Options(), said).retry == RetryPolicy()
    environ(AWS_MAX_ATTEMPTS="")
    assert retry_policy_for(os.environ).attempts == 7


@pytest.mark.parametrize("target", ["https://a.example", "http://127.0.0.1:8000", "unix:///tmp/nobody/engine.sock"])
def test_every_address_is_retried_as_the_caller_says(target: str, environ: Callable[..., Mapping[str, str]]) -> None:
    given = RetryPolicy(attempts=4, deadline_seconds=7)
    assert find_target(target, Options(retry=given), environ(**BOTH)).retry == given


def test_the_authorities(environ: Callable[..., Mapping[str, str]], tmp_path: Path) -> None:
    said = environ(AWS_PROFILE="many", REQUESTS_CA_BUNDLE="/of/requests.pem")
    assert endpoint_for("aws", environ=said).ca_file == "/nowhere/ca.pem"
    assert endpoint_for("http://127.0.0.1:8000", environ=said).ca_file is None
    with pytest.raises(errors.NotConfigured, match=r"/nowhere/ca\.pem.*AWS_CA_BUNDLE"):
        connect("aws", environ=said)
    said = environ(AWS_CA_BUNDLE="/of/aws.pem")
    assert endpoint_for("https://a.example", environ=said).ca_file == "/of/aws.pem"
    assert endpoint_for("aws", environ=BOTH | {"REQUESTS_CA_BUNDLE": "/r.pem"}).ca_file == "/r.pem"


def test_credentials_of_the_program_have_no_account_of_the_environment(
    environ: Callable[..., Mapping[str, str]],
) -> None:
    said = environ(**BOTH, AWS_ACCOUNT_ID="123456789012")
    mine = StaticCredentials(Credentials("MINE", "hush"))
    assert "123456789012" not in find_target("aws", Options(credentials=mine), said).endpoint.host


@pytest.mark.parametrize("account", ["1.evil.example/", "a b", "x" * 64])
def test_an_account_cannot_bring_a_host_of_its_own(account: str) -> None:
    with pytest.raises(errors.NotConfigured, match="account"):
        endpoint_for("aws", environ=BOTH, account=account)


def test_a_queue_is_reached_as_the_environment_says() -> None:
    url = "https://sqs.eu-central-1.amazonaws.com/1/jobs"
    places: list[tuple[dict[str, str], str]] = [
        ({}, "https://sqs.eu-central-1.amazonaws.com"),
        ({"AWS_USE_FIPS_ENDPOINT": "true"}, "https://sqs-fips.eu-central-1.amazonaws.com"),
        ({"AWS_USE_DUALSTACK_ENDPOINT": "true"}, "https://sqs.eu-central-1.api.aws"),
        ({"AWS_ENDPOINT_URL_SQS": "http://127.0.0.1:4566"}, "http://127.0.0.1:4566"),
    ]
    for environ, expected in places:
        assert locator("aws", environ=BOTH | environ)(SQS, url).url == expected
    assert locator("http://127.0.0.1:1", environ=BOTH)(SQS, url).url == "https://sqs.eu-central-1.amazonaws.com"
    assert locator("aws", environ=BOTH)(SQS, "https://queues.example/1/jobs").url == "https://queues.example"
    with pytest.raises(errors.NotConfigured, match="AWS_USE_FIPS_ENDPOINT"):
        locator("aws", environ=BOTH | {"AWS_USE_FIPS_ENDPOINT": "true"})(SQS, "https://queues.example/1/jobs")


@pytest.mark.parametrize(
    ("target", "shift"),
    [("aws", False), ("http://127.0.0.1:8000", True), ("https://scylla.example.org", True)],
)
def test_parts_of_a_scan_shift_on_every_engine_that_is_not_aws(
    target: str, shift: bool, environ: Callable[..., Mapping[str, str]]
) -> None:
    """They may do so there: who reads a table in several parts while items move would miss some."""
    said = environ(AWS_REGION="eu-central-1", AWS_ACCESS_KEY_ID="a", AWS_SECRET_ACCESS_KEY="s")
    assert find_target(target, Options(), said).traits.segments_shift is shift
