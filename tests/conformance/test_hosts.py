"""Where requests go, in every region of every partition, against the rules that botocore's clients follow."""

from __future__ import annotations

from functools import cache
from typing import Any

import botocore.session
import pytest
from botocore.endpoint_provider import EndpointProvider
from botocore.exceptions import EndpointProviderError

from singletable.wire import endpoint_for

SERVICES = {"dynamodb": "dynamodb", "dynamodbstreams": "streams.dynamodb", "sqs": "sqs"}
"""Botocore's name of a service: the first part of its host in most regions."""
VARIANTS = [(False, False), (True, False), (False, True), (True, True)]
"""FIPS and dual stack."""


@cache
def session() -> Any:
    return botocore.session.Session()


@cache
def rules_of(service: str) -> EndpointProvider:
    loader = session().get_component("data_loader")
    rules = loader.load_service_model(service, "endpoint-rule-set-1")
    return EndpointProvider(rules, loader.load_data("partitions"))


def expected(service: str, region: str, fips: bool, dual: bool) -> str | None:
    """None where the service has no such endpoint there."""
    try:
        found = rules_of(service).resolve_endpoint(Region=region, UseFIPS=fips, UseDualStack=dual)
    except EndpointProviderError:
        return None
    return str(found.url)


def ours(service: str, region: str, fips: bool, dual: bool) -> str:
    environ = {"AWS_REGION": region, "AWS_USE_FIPS_ENDPOINT": str(fips), "AWS_USE_DUALSTACK_ENDPOINT": str(dual)}
    return endpoint_for("aws", environ=environ, service=SERVICES[service]).url


def regions() -> list[str]:
    partitions = session().get_available_partitions()
    return sorted({r for p in partitions for s in SERVICES for r in session().get_available_regions(s, p)})


@pytest.mark.parametrize(("fips", "dual"), VARIANTS)
@pytest.mark.parametrize("service", SERVICES)
def test_each_region_has_the_host_that_botocore_has(service: str, fips: bool, dual: bool) -> None:
    wanted = {region: expected(service, region, fips, dual) for region in regions()}
    assert {region: ours(service, region, fips, dual) for region in wanted} == wanted


def test_there_are_regions_of_several_partitions() -> None:
    assert {"us-east-1", "cn-north-1", "us-gov-west-1", "us-iso-east-1"} <= set(regions())
