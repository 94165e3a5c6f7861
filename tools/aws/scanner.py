"""Looks for secrets in cassettes: python -m tools.aws scan

An account's number is twelve digits. A test's own data may hold such a number only if it is listed here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from tools.aws.scrubbing import ID_MEMBERS

_BARE_KEY = r"(?<![\w/+-])(?=[a-z0-9/+]*[A-Z])(?=[A-Z0-9/+]*[a-z])(?=[A-Za-z/+]*\d)[A-Za-z0-9/+]{40}(?![\w/+=-])"
"""Forty characters of base64 by themselves, of all three kinds."""
_IDS = "|".join(ID_MEMBERS)
PATTERNS = {
    "an access key": re.compile(r"\b(?:AKIA|ASIA|AIDA|AROA|AGPA|ANPA)[A-Z0-9]{16}\b"),
    "a secret key": re.compile(rf"(?i:secret_?(?:access_?)?key)[\\\"':=<> ]+[A-Za-z0-9/+=]{{16,}}|{_BARE_KEY}"),
    "a session token": re.compile(r"\b(?:IQoJ|FwoG|FQoG)[A-Za-z0-9/+=_-]{40,}|(?i:x-amz-security-token|SessionToken)"),
    "a signature": re.compile(r"(?i)AWS4-HMAC-SHA256|\bsignature=|X-Amz-Credential|x-amz-signature|\bauthorization\b"),
    "an account's number in an ARN": re.compile(r"(?i)arn(?::|%3A)aws[a-z-]*(?:(?::|%3A)[a-z0-9-]*){2}(?::|%3A)\d"),
    "an account's number in a path": re.compile(r"(?<=/)\d{12}(?=/)"),
    "an account's number": re.compile(r"(?<![\d.A-Za-z+/=_#-])\d{12}(?![\d.A-Za-z+/=_#-])"),
    "a host": re.compile(r"(?i)\.amazonaws\.com|\.api\.aws\b|\blocalhost\b|\b(?:\d{1,3}\.){3}\d{1,3}\b|https?://"),
    "an id or a handle": re.compile(rf"(?:\"({_IDS})\\?\": ?\\?\"|<({_IDS})>)(?!(?:\1|\2)-\d+[\\\"<])[^\\\"<]"),
    "a request's id": re.compile(r"(?i)x-amzn?-request-?id|x-amz-id-2"),
    "a name of a run": re.compile(r"singletable-test-[0-9a-f]{10}"),
}
ALLOWED: frozenset[str] = frozenset()
"""What tests hold that looks like a secret and is none."""


def secrets_in(text: str, secrets: Sequence[str] = (), account: str = "") -> Iterator[str]:
    """What is found in a text: its kind and where, never itself."""
    for secret in secrets:
        if secret and secret in text:
            yield "a secret of this run"
    if account and re.search(rf"(?<!\d){account}(?!\d)", text):
        yield "the account of this run"
    for kind, pattern in PATTERNS.items():
        for found in pattern.finditer(text):
            if found[0] not in ALLOWED:
                yield f"{kind}, at character {found.start()}"


def secrets_in_folder(folder: Path) -> Iterator[str]:
    """What is found in the cassettes below a folder, with the file of each."""
    from tools.aws.cassettes import text_of  # noqa: PLC0415

    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield from (f"{path}: {found}" for found in secrets_in(text_of(path)))
