"""What no cassette may hold, taken out of answers: the account, ids, handles, dates, hosts. Each has a name in its
place, the same each time, so that a test which sends it again is understood.

    scrubber = Scrubber(secrets=["AKIA..."], account="...", gateway="http://127.0.0.1:4000")
    scrubber.scrub(b'{"TableArn": "arn:aws:dynamodb:eu-west-1:<the account>:table/app"}')
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

GATEWAY = "{gateway}"
"""Stands for the address at which the answers are given."""
_KEPT_HEADERS = ("content-type", "x-amz-crc32", "x-amzn-errortype", "etag", "content-range", "content-length")
ID_MEMBERS = (
    "TableId",
    "MessageId",
    "ReceiptHandle",
    "ShardIterator",
    "NextShardIterator",
    "UploadId",
    "RequestId",
    "HostId",
    "NextContinuationToken",
    "eventID",
)
"""Members of answers whose values are other ones in each run."""
_JSON_ID = re.compile(rb'"(%s)": ?"((?:[^"\\]|\\.)+)"' % "|".join(ID_MEMBERS).encode())
_XML_ID = re.compile(rb"<(%s)>([^<]+)</" % "|".join(ID_MEMBERS).encode())
_DATE = rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3,6}"
_LABEL = re.compile(rb'(?:(?<=/stream/)|(?<="LatestStreamLabel":")|(?<="LatestStreamLabel": "))' + _DATE)
"""When a stream was made; a part of its ARN. A test's own dates stay."""
_DATES = re.compile(rb'"(CreationDateTime|TableCreationDateTime|LastUpdateToPayPerRequestDateTime)": ?[\d.eE+]+')
_XML_DATES = re.compile(rb"<(LastModified|CreationDate|Initiated)>[^<]+</")
_SOME_DATE = "Thu, 01 Jan 2026 00:00:00 GMT"
_ARN = re.compile(rb"(arn:aws[a-z-]*:[a-z0-9-]+:[a-z0-9-]*:)\d+(?=:)")
_AWS = rb"[A-Za-z0-9.-]+\.(?:amazonaws|api\.aws)[a-z.]*"
_HOST = re.compile(rb"https?:(?:\\?/){2}(?:%s|localhost|127\.0\.0\.1)(?::\d+)?" % _AWS)


@dataclass
class Scrubber:
    """The names of one test's ids. Secrets and the account are the same for all tests."""

    secrets: Sequence[str] = ()
    account: str = ""
    gateway: str = ""
    _ids: dict[bytes, bytes] = field(default_factory=dict[bytes, bytes])

    def scrub(self, data: bytes) -> bytes:
        """An answer's or a request's body without them."""
        if self.gateway:
            data = data.replace(self.gateway.encode(), GATEWAY.encode())
        data = _HOST.sub(b"{service}", data)
        for secret in self.secrets:
            data = data.replace(secret.encode(), b"secret")
        if self.account:
            data = re.sub(rb"\b%s\b" % self.account.encode(), b"account", data)
        data = _ARN.sub(rb"\1account", data)
        for pattern in (_JSON_ID, _XML_ID):
            data = pattern.sub(self._named, data)
        data = _LABEL.sub(lambda found: self._name(b"label", found[0]), data)
        data = _DATES.sub(rb'"\1":1767225600.0', data)
        return _XML_DATES.sub(rb"<\1>2026-01-01T00:00:00.000Z</", data)

    def headers(self, headers: Mapping[str, str]) -> dict[str, str]:
        """Those that a client reads."""
        kept = {name: headers[name] for name in _KEPT_HEADERS if name in headers}
        return kept | ({"last-modified": _SOME_DATE} if "last-modified" in headers else {})

    def _named(self, found: re.Match[bytes]) -> bytes:
        return found[0].replace(found[2], self._name(found[1], found[2]))

    def _name(self, kind: bytes, value: bytes) -> bytes:
        if value.startswith(kind + b"-"):
            return value
        return self._ids.setdefault(value, b"%s-%d" % (kind, len(self._ids) + 1))
