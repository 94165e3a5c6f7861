"""SQS's calls about a queue itself, which the library leaves to whoever owns the queue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from singletable.flow.port import Consumed
from singletable.flow.request import Request, Response
from singletable.flow.table_names import DECLARED, TableNames
from singletable.operations.answers import NOTHING, encode


class CreateQueue(Struct, frozen=True):
    """Create a queue, or find the one of that name and those attributes; returns its URL."""

    name: str
    attributes: Mapping[str, str] = {}

    def request(self, names: TableNames = DECLARED) -> Request:
        body = {"QueueName": self.name, "Attributes": self.attributes}
        return Request("CreateQueue", encode(body), self.name)

    def answer(self, response: Response) -> tuple[str, Consumed]:
        return str(_decoded(response)["QueueUrl"]), NOTHING


class GetQueueAttributes(Struct, frozen=True):
    """What a queue says of itself; counts of messages are about right."""

    url: str

    def request(self, names: TableNames = DECLARED) -> Request:
        body = {"QueueUrl": self.url, "AttributeNames": ["All"]}
        return Request("GetQueueAttributes", encode(body), self.url.rpartition("/")[2])

    def answer(self, response: Response) -> tuple[Mapping[str, str], Consumed]:
        return dict(_decoded(response)["Attributes"]), NOTHING


def _decoded(response: Response) -> Any:
    assert response.status == 200, response.body
    return msgspec.json.decode(response.body)
