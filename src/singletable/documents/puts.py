"""Putting rows: only where there is none, and where being refused is no error."""

from __future__ import annotations

from typing import Any

from singletable.operations import PutItem, Refused
from singletable.records.models import model_for
from singletable.records.rules import is_absent, plain_guard
from singletable.wire.port import Consumed
from singletable.wire.request import Response


def put_if_absent(row: Any) -> PutItem:
    """The put of a row that must not be there yet."""
    model = model_for(row)
    return PutItem(model.table.name, model.item(row), plain_guard(model, is_absent))


class Yielding:
    """A put that gives way: what stands there and refuses it stays, and is no error."""

    def __init__(self, put: PutItem) -> None:
        self.put = put
        self.request = put.request

    def answer(self, response: Response) -> tuple[None, Consumed]:
        try:
            return self.put.answer(response)
        except Refused:
            return None, Consumed()
