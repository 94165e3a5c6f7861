"""Requests against the models of the services that botocore ships: their members, types, enumerations, lengths."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from botocore.loaders import Loader
from botocore.model import ServiceModel
from botocore.validate import ParamValidator

MODELS = {
    "AmazonSQS": "sqs",
    "DynamoDBStreams_20120810": "dynamodbstreams",
    "DynamoDB_20120810": "dynamodb",
}
"""The prefix of the X-Amz-Target header: botocore's name of the service."""
SAID_BY_THE_SERVICE = {"ShardId": "shardId-00000001414576573621-f55eea83"}
"""Members that repeat what the service itself has said, with an example of AWS's: engines' own forms differ."""
_LONGEST_REPORT = 300


@cache
def model_of(prefix: str) -> ServiceModel:
    name = MODELS[prefix]
    return ServiceModel(Loader().load_service_model(name, "service-2"), name)


def breaches_of_model(prefix: str, operation: str, body: dict[str, Any]) -> Iterator[str]:
    """What in a request the service's model does not allow."""
    model = model_of(prefix)
    if operation not in model.operation_names:
        yield f"{operation} is not an operation of {MODELS[prefix]}"
        return
    shape: Any = model.operation_model(operation).input_shape
    body = {**body, **{name: text for name, text in SAID_BY_THE_SERVICE.items() if name in body}}
    yield from _unknown_members(shape, body, operation)
    yield from _constraints(shape, body, operation)
    try:
        decoded = _decoded(shape, body)
    except binascii.Error as error:
        yield f"{operation}: a binary value is not base64: {error}"
        return
    report = ParamValidator().validate(decoded, shape)
    if report.has_errors():
        yield f"{operation}: {report.generate_report()[:_LONGEST_REPORT]}"


def _parts(shape: Any, value: Any, path: str) -> Iterator[tuple[Any, Any, str]]:
    """The shapes, values and paths directly within a value."""
    kind = shape.type_name
    if kind == "structure" and isinstance(value, dict):
        yield from ((shape.members[k], v, f"{path}.{k}") for k, v in value.items() if k in shape.members)
    elif kind == "list" and isinstance(value, list):
        yield from ((shape.member, v, f"{path}[]") for v in value)
    elif kind == "map" and isinstance(value, dict):
        yield from ((shape.value, v, f"{path}{{}}") for v in value.values())


def _unknown_members(shape: Any, value: Any, path: str) -> Iterator[str]:
    if shape.type_name == "structure" and isinstance(value, dict):
        yield from (f"{path}: unknown member {name}" for name in value if name not in shape.members)
    for part in _parts(shape, value, path):
        yield from _unknown_members(*part)


def _constraints(shape: Any, value: Any, path: str) -> Iterator[str]:
    """Enumerations, patterns and maxima, which botocore's own validator leaves to the service."""
    most, pattern = shape.metadata.get("max"), shape.metadata.get("pattern")
    if isinstance(value, str) and shape.type_name == "string":
        if getattr(shape, "enum", None) and value not in shape.enum:
            yield f"{path}: {value} is none of {', '.join(shape.enum)}"
        if most and len(value) > most:
            yield f"{path}: longer than {most}"
        if pattern and not re.fullmatch(pattern, value):
            yield f"{path}: does not match {pattern}"
    elif isinstance(value, list) and most and len(value) > most:
        yield f"{path}: more than {most} elements"
    elif isinstance(value, int) and most and value > most:
        yield f"{path}: more than {most}"
    for part in _parts(shape, value, path):
        yield from _constraints(*part)


def _decoded(shape: Any, value: Any) -> Any:
    """A request as botocore's validator takes it: with bytes where JSON has base64."""
    kind = shape.type_name
    if kind == "structure" and isinstance(value, dict):
        return {k: _decoded(shape.members[k], v) if k in shape.members else v for k, v in value.items()}
    if kind == "list" and isinstance(value, list):
        return [_decoded(shape.member, v) for v in value]
    if kind == "map" and isinstance(value, dict):
        return {k: _decoded(shape.value, v) for k, v in value.items()}
    if kind == "blob" and isinstance(value, str):
        return base64.b64decode(value, validate=True)
    return value
