"""The formats in which a deployment is written: each as a text, and its text as the template that is in it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from msgspec import Struct

from singletable.errors import InvalidRequest
from singletable_deploy import cdk, cloudformation, sam
from singletable_deploy.deployment import Deployment


class Format(Struct, frozen=True):
    """A format: its writer, and the reader of the rights in it."""

    write: Callable[[Deployment], str]
    read: Callable[[str], Any]


def _json(make: Callable[[Deployment], Any]) -> Format:
    return Format(lambda deployment: json.dumps(make(deployment), indent=2) + "\n", json.loads)


FORMATS: Final[dict[str, Format]] = {
    "cloudformation": _json(cloudformation.template),
    "sam": _json(sam.template),
    "cdk": Format(cdk.app, cdk.template_in),
}


def template_text(deployment: Deployment, format: str) -> str:
    """A deployment in a format: "cloudformation", "sam" or "cdk". InvalidRequest for any other."""
    return _format(format).write(deployment)


def template_of(text: str, format: str) -> Any:
    """The template in a text of a format. Raises ValueError if there is none."""
    return _format(format).read(text)


def _format(name: str) -> Format:
    if name not in FORMATS:
        raise InvalidRequest(f"unknown format {name!r}", hint=f"Pass one of {', '.join(FORMATS)}.")
    return FORMATS[name]
