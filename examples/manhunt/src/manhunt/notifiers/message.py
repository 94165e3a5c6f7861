"""One message of a search, and the port through which it leaves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from manhunt.model import Kind


@dataclass(frozen=True)
class Message:
    """What one attempt says to one destination."""

    search_id: str
    step: int
    destination: str
    name: str
    """Of the contact."""
    text: str
    answer_url: str
    """A page with a button: only the button answers, as mail scanners follow links."""
    answer_api_url: str
    """Takes the answer of a program, as a POST."""
    call_url: str
    """Says what a call speaks, to the telephone provider."""

    @property
    def idempotency_key(self) -> str:
        """The same for every try of this message, and no other's."""
        return f"{self.search_id}-{self.step}"


class Notifier(Protocol):
    """Sends messages of one kind."""

    def __call__(self, message: Message) -> str:
        """What the provider calls the message; nothing where it has no name.

        Undeliverable where a later try may succeed, Rejected where none will. Never waits for longer than its time.
        """
        ...


Notifiers = Mapping[Kind, Notifier]
