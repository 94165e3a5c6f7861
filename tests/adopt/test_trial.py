"""A trial tells what a class would write otherwise, though an object that was read keeps the stored form."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from singletable import Entity, Key, Table
from singletable.adopt.trial import trial_of

table = Table("old", foreign=True)


class Shift(Entity, table=table, type="shift"):
    id: str
    at: datetime
    note: str | None = None

    @table.key
    @staticmethod
    def of(id: str) -> Key:
        return f"shift#{id:raw}", "shift"


ITEM: dict[str, Any] = {"pk": {"S": "shift#1"}, "sk": {"S": "shift"}, "id": {"S": "1"}}
OURS = {"at": {"S": "2026-01-31T09:30:00.000000Z"}}


@pytest.mark.parametrize(
    ("more", "different"),
    [
        (OURS, ()),
        ({"at": {"S": "2026-01-31T09:30:00+00:00"}}, ("at",)),
        (OURS | {"note": {"NULL": True}}, ()),  # the value is None in either form
        (OURS | {"other": {"S": "x"}}, ()),
    ],
)
def test_another_form_is_told_and_a_null_is_kept(more: dict[str, Any], different: tuple[str, ...]) -> None:
    trial = trial_of(table, ITEM | more)
    assert (trial.different, trial.is_exact) == (different, not different)
