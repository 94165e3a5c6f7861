"""Reads the policies out of a CloudFormation template, with their resources as the ARNs that they become."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.support.attempts import queue_arn, stream_arn, table_arn

Json = Mapping[str, Any]


def statements_of(template: Json, role: str) -> list[dict[str, Any]]:
    """The statements of a role, by the beginning of its policies' logical names."""
    resources = template["Resources"]
    policies = [
        resource["Properties"]["PolicyDocument"]["Statement"]
        for name, resource in resources.items()
        if resource["Type"] == "AWS::IAM::ManagedPolicy" and name.rstrip("0123456789") == f"{role}Policy"
    ]
    assert policies, f"the template has no policy of {role}"
    return [{**s, "Resource": resolved(s["Resource"], resources)} for policy in policies for s in policy]


def resolved(value: Any, resources: Json) -> Any:
    """What CloudFormation makes of a value."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return [resolved(each, resources) for each in value]
    ((function, given),) = value.items()
    if function == "Fn::GetAtt":
        return _attribute(given[1], resources[given[0]])
    if function == "Fn::Sub" and isinstance(given, str):
        return given.replace("${AWS::Partition}", "aws")
    if function == "Fn::Sub" and isinstance(given, list):
        text = given[0]
        for name, inner in given[1].items():
            text = text.replace(f"${{{name}}}", resolved(inner, resources))
        return text
    raise NotImplementedError(function)


def _attribute(name: str, resource: Json) -> str:
    kind, properties = resource["Type"], resource["Properties"]
    if kind == "AWS::DynamoDB::Table":
        return stream_arn(properties["TableName"]) if name == "StreamArn" else table_arn(properties["TableName"])
    if kind == "AWS::SQS::Queue":
        return queue_arn(properties["QueueName"])
    if kind == "AWS::S3::Bucket":
        return "arn:aws:s3:::the-bucket"
    raise NotImplementedError(kind)
