"""The parts that templates share: names, references, and the resources that several things need."""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Any

from singletable.errors import DeclarationError
from singletable_deploy.resources import words

Json = dict[str, Any]
RETAINED = {"DeletionPolicy": "Retain", "UpdateReplacePolicy": "Retain"}
"""A resource that holds data stays when it is taken out of the template."""
KEPT_SECONDS = 14 * 24 * 60 * 60
"""The longest time that SQS keeps a message."""


def together(*parts: Iterator[Json], taken: Container[str] = ()) -> Json:
    """Resources by their names. Two may not have the same name, nor may a resource and a parameter."""
    resources: Json = {}
    for name, resource in (each for several in parts for part in several for each in part.items()):
        if name in resources or name in taken:
            raise DeclarationError(f"the template would have two resources {name}", hint="Rename what it is made of.")
        resources[name] = resource
    return resources


def logical(name: str, kind: str) -> str:
    """A name as CloudFormation takes it: letters and digits."""
    return words(name) + kind


def arn_of(name: str, attribute: str = "Arn") -> Json:
    return {"Fn::GetAtt": [name, attribute]}


def plain_queue(name: str, *, is_fifo: bool = False) -> Json:
    properties: Json = {"MessageRetentionPeriod": KEPT_SECONDS, "QueueName": name, "SqsManagedSseEnabled": True}
    if is_fifo:
        properties["FifoQueue"] = True
    return {"Type": "AWS::SQS::Queue", **RETAINED, "Properties": properties}


def closed_bucket() -> Json:
    """A bucket that nobody outside of the account reads. Its name is the stack's own."""
    closed = ("BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets")
    return {
        "Type": "AWS::S3::Bucket",
        **RETAINED,
        "Properties": {
            "OwnershipControls": {"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]},
            "PublicAccessBlockConfiguration": dict.fromkeys(closed, True),
        },
    }
