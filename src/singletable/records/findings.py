"""A finding: one violation of an invariant, as every layer's check reports it; and what became of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from msgspec import Struct

from singletable.schema import model_for


@dataclass(frozen=True)
class Finding:
    """One violation of an invariant. `key` is the item's key, for a program; the text doesn't contain it."""

    code: str
    what: str
    type: str
    key: tuple[str, str]

    def __repr__(self) -> str:
        """Without the key, which may be made of personal values."""
        return f"<Finding {self}>"

    def __str__(self) -> str:
        return f"{self.code}: {self.type or 'an item'}: {self.what}"


def finding_in(entity: Any, code: str, what: str) -> Finding:
    """A finding in an item that was read."""
    model = model_for(entity)
    return Finding(code, what, model.type, model.place_of(entity))


Outcome = Literal["mended", "mendable", "gone", "kept", "contended"]


class Repaired(Struct, frozen=True):
    """The outcome of a finding.

    `mended`: it was written, and the finding is gone. `mendable`: it would be written. `gone`: the finding is gone
    already. `kept`: a person has to decide. `contended`: other writers were first, each of 20 times.
    """

    finding: Finding
    outcome: Outcome
    what: str = ""
    """The write, or the planned write, without values."""
