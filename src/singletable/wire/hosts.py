"""The hosts of AWS's services, by region and kind of endpoint, as in AWS's published endpoint rules."""

from __future__ import annotations

from msgspec import Struct

from singletable.errors import NotConfigured


class AwsPartition(Struct, frozen=True):
    """A partition of AWS: separate regions, with their own domains."""

    prefix: str
    """The prefix of its regions."""
    domain: str
    dual_stack_domain: str


# If one prefix begins another, the longer one comes first. From botocore's partitions.json, 1.44.
GOVERNMENT = AwsPartition("us-gov-", "amazonaws.com", "api.aws")
CHINA = AwsPartition("cn-", "amazonaws.com.cn", "api.amazonwebservices.com.cn")
COMMERCIAL = AwsPartition("", "amazonaws.com", "api.aws")
PARTITIONS = (
    GOVERNMENT,
    CHINA,
    AwsPartition("us-isob-", "sc2s.sgov.gov", "api.aws.scloud"),
    AwsPartition("us-isof-", "csp.hci.ic.gov", "api.aws.hci.ic.gov"),
    AwsPartition("us-iso-", "c2s.ic.gov", "api.aws.ic.gov"),
    AwsPartition("eu-isoe-", "cloud.adc-e.uk", "api.cloud-aws.adc-e.uk"),
    AwsPartition("eusc-", "amazonaws.eu", "api.amazonwebservices.eu"),
    COMMERCIAL,
)
_WITH_ACCOUNTS = ("us-gov-east-1", "us-gov-west-1", "cn-north-1", "cn-northwest-1")
"""Regions of other partitions in which accounts have their own endpoints."""


class EndpointKind(Struct, frozen=True):
    """The kind of a service's endpoint."""

    fips: bool = False
    dual_stack: bool = False


def host_of(service: str, region: str, kind: EndpointKind = EndpointKind()) -> str:  # noqa: B008 frozen
    """The host of a service: `dynamodb`, `streams.dynamodb` or `sqs`."""
    partition = partition_of(region)
    if service == "streams.dynamodb" and kind.dual_stack and partition in (COMMERCIAL, GOVERNMENT, CHINA):
        service = "streams-dynamodb"
    # The endpoints of the government's regions are FIPS endpoints already.
    if kind.fips and (kind.dual_stack or partition is not GOVERNMENT):
        service += "-fips"
    return f"{service}.{region}.{_domain(partition, kind)}"


def is_aws_host(host: str) -> bool:
    """Whether a host is one of AWS's own services."""
    domains = {domain for partition in PARTITIONS for domain in (partition.domain, partition.dual_stack_domain)}
    return host.lower().endswith(tuple(f".{domain}" for domain in domains))


def account_host(account: str, region: str, kind: EndpointKind, *, required: bool) -> str | None:
    """DynamoDB's endpoint of an account; None if it has none. Raises `NotConfigured` if the mode requires one."""
    partition = partition_of(region)
    if not kind.fips and (partition is COMMERCIAL or region in _WITH_ACCOUNTS):
        return f"{account}.ddb.{region}.{_domain(partition, kind)}"
    if not required:
        return None
    why = "with FIPS endpoints" if kind.fips else f"in the region {region}"
    raise NotConfigured(
        f"AWS_ACCOUNT_ID_ENDPOINT_MODE is required, and accounts have no addresses of their own {why}",
        hint="Set it to preferred",
    )


def partition_of(region: str) -> AwsPartition:
    return next(partition for partition in PARTITIONS if region.startswith(partition.prefix))


def _domain(partition: AwsPartition, kind: EndpointKind) -> str:
    return partition.dual_stack_domain if kind.dual_stack else partition.domain
