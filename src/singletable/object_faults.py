"""Refusals of an object store of obstore, in words without a path: the path of a content holds keys."""

from __future__ import annotations

import re
from typing import Any, Final

from msgspec import Struct

MISSING_BUCKET: Final = "the bucket is missing"
_CODE = re.compile(r"<Code>(\w{1,80})</Code>")
_STATUS = re.compile(r"status code: (\d{3} [A-Z][A-Za-z ]*)")
_KIND = re.compile(r"\bkind: (Connect|Timeout)\b")
_OF_CREDENTIALS: Final = ("ExpiredToken", "InvalidAccessKeyId", "InvalidToken", "SignatureDoesNotMatch")
_DENIED = re.compile(rf"status code: 40[13]\b|<Code>({'|'.join(_OF_CREDENTIALS)})</Code>")
_KINDS: Final = {"Connect": "no connection", "Timeout": "no answer in time"}
_ACTIONS: Final = {
    "put": "s3:PutObject",
    "get": "s3:GetObject",
    "has": "s3:GetObject",
    "list": "s3:ListBucket",
    "delete": "s3:DeleteObject",
}


class ObjectPlace(Struct, frozen=True):
    """A store as errors and events name it."""

    name: str
    """Its class, or S3, with its bucket, region and endpoint, as far as they are known."""
    region: str = ""
    endpoint: str = ""
    bucket: str = ""


def place_of(store: Any) -> ObjectPlace:
    """The place of a store of obstore, by its settings."""
    kind = type(store).__name__
    config: Any = getattr(store, "config", None) or {}
    bucket = str(config.get("bucket") or config.get("container_name") or "")
    region, endpoint = str(config.get("region") or ""), str(config.get("endpoint") or "")
    parts = ["S3" if kind == "S3Store" else kind, f"bucket {bucket}" if bucket else ""]
    parts += [f"in {region}" if region else "", f"at {endpoint}" if endpoint else ""]
    if not endpoint and kind == "S3Store":
        endpoint = f"https://s3.{region}.amazonaws.com" if region else "https://s3.amazonaws.com"
    return ObjectPlace(" ".join(filter(None, parts)), region, endpoint or f"{kind}:", bucket)


def refusal_of(error: BaseException) -> str:
    """The reason of an error: the service's code, else the status of its answer, else what the connection met."""
    text = str(error)
    if "incorrectly configured region" in text:
        return "the bucket is in another region than the one that was asked"
    if is_of_missing_bucket(error):
        return MISSING_BUCKET
    if code := _CODE.search(text):
        return code[1]
    if status := _STATUS.search(text):
        return f"status {status[1].strip()}"
    kind = _KIND.search(text)
    return _KINDS[kind[1]] if kind else type(error).__name__


def is_of_missing_bucket(error: BaseException) -> bool:
    """Whether it is not the object that is missing, but all of them."""
    return "<Code>NoSuchBucket</Code>" in str(error)


def is_denial(error: BaseException) -> bool:
    """Whether the credentials were refused, or may not do this. A list of objects has no error of its own for that."""
    return bool(_DENIED.search(str(error)))


def remedy_of(place: ObjectPlace, verb: str, why: str) -> str:
    """The remedy of a denial, by its reason."""
    if why in _OF_CREDENTIALS:
        return f"Renew or replace the credentials of {place.name}."
    if not place.name.startswith("S3 "):
        return "Allow it to the credentials of this program."
    return f"Allow {_ACTIONS[verb]} on the bucket {place.bucket} to the credentials of this program."
