"""Finding what runs have made, and deleting it: nothing that has not both the name and the tag of a run.

A bucket gets its tag by a request after the one that makes it. One that was left between the two is deleted only if its
name is in the run's journal and it has neither tags nor objects.
"""

from __future__ import annotations

import re
import time
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import md5
from typing import Any
from urllib.parse import quote, urlencode
from xml.etree import ElementTree

from singletable.flow import DYNAMODB, SQS
from tools.aws.account import Account, ServiceError
from tools.aws.journal import Kind, Made
from tools.aws.names import FAMILY, TAG
from tools.aws.refusals import advice

_RUN = re.compile(re.escape(FAMILY) + r"([0-9a-f]{10})-")
_GONE = {
    "ResourceNotFoundException",
    "AWS.SimpleQueueService.NonExistentQueue",
    "QueueDoesNotExist",
    "NoSuchBucket",
    "NoSuchKey",
}
_BUSY = {"ResourceInUseException", "LimitExceededException", "BucketNotEmpty", "OperationAborted"}
_NO_TAGS = "NoSuchTagSet"
_KINDS: tuple[Kind, ...] = ("table", "queue", "bucket")
_PATIENCE_SECONDS = 300.0
_S3_NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/"


class NotDeleted(Exception):
    """Something stays: for five minutes of tries, because a request is refused, or as it is not known to be a run's."""


@dataclass
class Cleaner:
    """Finds and deletes, in one account and region."""

    account: Account
    say: Callable[[str], None] = lambda _: None

    def find(self) -> list[Made]:
        """All that has the name of a run, of whichever run."""
        return [made for kind in _KINDS for made in self._list(kind)]

    def find_of(self, run: str) -> list[Made]:
        return [made for made in self.find() if run_of(made) == run]

    def rehearse(self, number: str) -> None:
        """Ask for what it takes to find and to delete, by names that nothing has; nothing is deleted.

        Raises ServiceError where a permission is missing.
        """
        self.find()
        name = f"{FAMILY}0000000000-nothing"
        queue = {"QueueUrl": f"{self.account.url_of(SQS)}/{number}/{name}"}
        attempts: tuple[Callable[[], object], ...] = (
            lambda: self._table(name),
            lambda: self.account.call(DYNAMODB, "DeleteTable", {"TableName": name}),
            lambda: self._queue_url(name),
            lambda: self.account.call(SQS, "ListQueueTags", queue),
            lambda: self.account.call(SQS, "DeleteQueue", queue),
            lambda: self.account.s3("GET", f"/{name}?tagging="),
            lambda: self.account.s3("DELETE", f"/{name}"),
        )
        for attempt in attempts:
            try:
                attempt()
            except ServiceError as error:
                if advice(error.code):
                    raise

    def delete_run(self, run: str, journal: frozenset[Made] = frozenset()) -> int:
        """Delete all that a run made, and look again until it is gone; the number of things deleted.

        What lists do not show yet is known from the journal. What is refused keeps nothing else from being deleted.
        Raises NotDeleted where something stays, OSError where the services can't be reached.
        """
        deleted: set[Made] = set()
        give_up = time.monotonic() + _PATIENCE_SECONDS
        while True:
            left, refused = self._left_of(run, journal)
            for made in left:
                if why := self._delete(made, run, journal):
                    refused.append(why)
                else:
                    deleted.add(made)
            if refused:
                raise NotDeleted("; ".join(refused))
            if not left:
                return len(deleted)
            if time.monotonic() > give_up:
                raise NotDeleted(f"{', '.join(f'{made.kind} {made.name}' for made in left)}: still there")
            if self.account.endpoint == "":
                time.sleep(2.0)  # noqa: TID251

    def _left_of(self, run: str, journal: frozenset[Made]) -> tuple[list[Made], list[str]]:
        """What is there of a run, and what could not be listed, with the reason."""
        found: dict[Made, None] = {}
        refused: list[str] = []
        for kind in _KINDS:
            try:
                found |= dict.fromkeys(made for made in self._list(kind) if run_of(made) == run)
            except ServiceError as error:
                refused.append(f"{kind}s: {error}")
        unlisted = sorted(journal - found.keys(), key=lambda made: (made.kind, made.name))
        return [*found, *(made for made in unlisted if self._is_there(made))], refused

    def _is_there(self, made: Made) -> bool:
        """Whether what a list does not show is there all the same: a list may be some seconds behind."""
        try:
            if made.kind == "table":
                self._table(made.name)
            elif made.kind == "queue":
                self._queue_url(made.name)
            else:
                self.account.s3("HEAD", f"/{made.name}")
        except ServiceError as error:
            return error.code not in _GONE and error.status != 404
        return True

    def _delete(self, made: Made, run: str, journal: frozenset[Made]) -> str:
        """Why it can't be deleted; empty where it is, or will be by and by."""
        try:
            if made.kind == "table" and self._table(made.name).get("TableStatus") == "DELETING":
                return ""
            if not self._is_of(made, run, journal):
                return f"the {made.kind} {made.name} has not the tag {TAG}={run}: it is left as it is"
            self.say(f"deleting the {made.kind} {made.name}")
            if made.kind == "table":
                self.account.call(DYNAMODB, "DeleteTable", {"TableName": made.name})
            elif made.kind == "queue":
                self.account.call(SQS, "DeleteQueue", {"QueueUrl": self._queue_url(made.name)})
            else:
                self._delete_bucket(made.name)
        except ServiceError as error:
            if error.code not in _GONE and error.code not in _BUSY:
                return f"the {made.kind} {made.name}: {error}"
        return ""

    def _is_of(self, made: Made, run: str, journal: frozenset[Made]) -> bool:
        if run_of(made) != run:
            return False
        tags = self._tags(made)
        if made.kind == "bucket" and not tags and made in journal:
            return not any(self._objects(made.name))
        return tags.get(TAG) == run

    def _tags(self, made: Made) -> dict[str, str]:
        if made.kind == "table":
            arn = self._table(made.name)["TableArn"]
            said = self.account.call(DYNAMODB, "ListTagsOfResource", {"ResourceArn": arn})
            return {tag["Key"]: tag["Value"] for tag in said.get("Tags", [])}
        if made.kind == "queue":
            said = self.account.call(SQS, "ListQueueTags", {"QueueUrl": self._queue_url(made.name)})
            return dict(said.get("Tags", {}))
        try:
            tree = ElementTree.fromstring(self.account.s3("GET", f"/{made.name}?tagging="))
        except ServiceError as error:
            if error.code == _NO_TAGS:
                return {}
            raise
        tags = [element for element in tree.iter() if _plain(element.tag) == "Tag"]
        return {_text(tag, "Key"): _text(tag, "Value") for tag in tags}

    def _list(self, kind: Kind) -> Iterator[Made]:
        if kind == "queue":
            return (Made(kind, url.rpartition("/")[2]) for url in self._queues())
        return (Made(kind, name) for name in (self._tables() if kind == "table" else self._buckets()))

    def _tables(self) -> Iterator[str]:
        after: dict[str, Any] = {}
        while True:
            said = self.account.call(DYNAMODB, "ListTables", after)
            yield from (name for name in said["TableNames"] if _RUN.match(name))
            if "LastEvaluatedTableName" not in said:
                return
            after = {"ExclusiveStartTableName": said["LastEvaluatedTableName"]}

    def _table(self, name: str) -> Mapping[str, Any]:
        said = self.account.call(DYNAMODB, "DescribeTable", {"TableName": name})
        return dict(said["Table"])

    def _queues(self) -> Iterator[str]:
        after: dict[str, Any] = {}
        while True:
            said = self.account.call(SQS, "ListQueues", {"QueueNamePrefix": FAMILY, "MaxResults": 1000} | after)
            yield from (url for url in said.get("QueueUrls", []) if _RUN.match(url.rpartition("/")[2]))
            if "NextToken" not in said:
                return
            after = {"NextToken": said["NextToken"]}

    def _queue_url(self, name: str) -> str:
        return str(self.account.call(SQS, "GetQueueUrl", {"QueueName": name})["QueueUrl"])

    def _buckets(self) -> Iterator[str]:
        tree = ElementTree.fromstring(self.account.s3("GET", "/"))
        names = (_text(element, "Name") for element in tree.iter() if _plain(element.tag) == "Bucket")
        return (name for name in names if _RUN.match(name))

    def _objects(self, bucket: str) -> Iterator[str]:
        after: dict[str, str] = {}
        while True:
            query = urlencode({"list-type": "2"} | after)
            tree = ElementTree.fromstring(self.account.s3("GET", f"/{bucket}?{query}"))
            yield from (_text(element, "Key") for element in tree.iter() if _plain(element.tag) == "Contents")
            token = next((e.text for e in tree.iter() if _plain(e.tag) == "NextContinuationToken"), None)
            if not token:
                return
            after = {"continuation-token": token}

    def _delete_bucket(self, bucket: str) -> None:
        for key in [*self._objects(bucket)]:
            self.account.s3("DELETE", f"/{bucket}/{quote(key)}")
        tree = ElementTree.fromstring(self.account.s3("GET", f"/{bucket}?uploads="))
        for upload in (element for element in tree.iter() if _plain(element.tag) == "Upload"):
            query = urlencode({"uploadId": _text(upload, "UploadId")})
            self.account.s3("DELETE", f"/{bucket}/{quote(_text(upload, 'Key'))}?{query}")
        self.account.s3("DELETE", f"/{bucket}")


def tag_bucket(account: Account, bucket: str, run: str) -> None:
    """Put the run's tag on a bucket that was just made."""
    tags = f"<Tag><Key>{TAG}</Key><Value>{run}</Value></Tag>"
    body = f'<Tagging xmlns="{_S3_NAMESPACE}"><TagSet>{tags}</TagSet></Tagging>'.encode()
    headers = {"content-md5": b64encode(md5(body, usedforsecurity=False).digest()).decode()}
    account.s3("PUT", f"/{bucket}?tagging=", body, headers)


def run_of(made: Made) -> str:
    """The id of the run whose name something has; empty for what has none."""
    found = _RUN.match(made.name)
    return found[1] if found else ""


def _plain(tag: str) -> str:
    return tag.rpartition("}")[2]


def _text(element: ElementTree.Element, name: str) -> str:
    return next((child.text or "" for child in element.iter() if _plain(child.tag) == name), "")
