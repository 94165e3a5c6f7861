"""The AWS services: all take JSON over POST, signed by Signature Version 4."""

from __future__ import annotations

from msgspec import Struct


class Service(Struct, frozen=True):
    """One service: its name in signatures, the prefix of X-Amz-Target, the first part of its host."""

    name: str
    target_prefix: str
    host: str


DYNAMODB = Service("dynamodb", "DynamoDB_20120810", "dynamodb")
DYNAMODB_STREAMS = Service("dynamodb", "DynamoDBStreams_20120810", "streams.dynamodb")
SQS = Service("sqs", "AmazonSQS", "sqs")
