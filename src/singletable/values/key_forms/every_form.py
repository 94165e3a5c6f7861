"""Every key form. A module of its own, so that a program whose keys have none doesn't import them."""

from __future__ import annotations

from singletable.values.key_forms.calendar import CALENDAR
from singletable.values.key_forms.cased import LOWER, UPPER
from singletable.values.key_forms.epoch import MILLISECONDS, SECONDS
from singletable.values.key_forms.form import KeyForm
from singletable.values.key_forms.ids import KSUID, ULID
from singletable.values.key_forms.raw import RAW_NUMBER, RAW_TEXT
from singletable.values.key_forms.shard import SHARD
from singletable.values.key_types import KeyType


def _folded(key_type: KeyType, format: str) -> KeyType | None:
    if format != "folded":
        return None
    from singletable.values.key_forms.folded import FoldedText  # noqa: PLC0415 few programs search

    return FoldedText(str)


FOLDED = KeyForm("folded", (str,), _folded)
FORMS: tuple[KeyForm, ...] = (
    *(RAW_TEXT, RAW_NUMBER, LOWER, UPPER, FOLDED, SECONDS, MILLISECONDS, CALENDAR, ULID, KSUID, SHARD),
)
