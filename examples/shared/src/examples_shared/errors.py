"""What an application refuses, by what a caller can do about it; each application adds its own below these.

ApplicationError
├── Invalid      the input: a name, a number, a file                           (also ValueError; HTTP 422)
├── Missing      there is none, or none that the caller may know of            (HTTP 404)
├── Refused      the data as it stands says no                                 (HTTP 409)
│   └── Changed  somebody else changed the same meanwhile
└── Undeliverable  a provider did not take a message: try again
    ├── Rejected   ... and will not take it when asked again
    └── Unanswered ... as far as we know: it was sent, and nobody said whether it arrived
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from singletable import InvalidCursor, InvalidValue, Unavailable
from singletable.errors import TooLarge, TransactionConflict


class ApplicationError(Exception):
    """The root."""

    field: str | None = None
    """The one field of a form, or argument, that is to blame."""


class Invalid(ApplicationError, ValueError):
    """Input that can't be meant."""

    def __init__(self, said: str, field: str | None = None) -> None:
        super().__init__(said)
        self.field = field


class Missing(ApplicationError):
    """There is none, or none that the caller may know of: front doors tell the two apart nowhere."""


class Refused(ApplicationError):
    """The data, as it stands, says no."""


@dataclass(frozen=True)
class Difference:
    """What two people changed, or one of them."""

    base: Any
    """As the caller read it."""
    stored: Any
    """As somebody else left it."""
    yours: Any

    def __str__(self) -> str:
        return f"is {self.stored!r}, " + (
            f"was {self.base!r}" if self.yours == self.base else f"you wanted {self.yours!r}"
        )


class Changed(Refused):
    """Somebody else changed what the caller had read; nothing was written."""

    def __init__(self, what: str, differences: Mapping[str, Difference]) -> None:
        said = ", ".join(f"{name} {difference}" for name, difference in differences.items())
        super().__init__(f"{what} was changed meanwhile: {said}")
        self.differences = differences


class Undeliverable(ApplicationError):
    """A provider did not take a message: it is tried again."""


class Rejected(Undeliverable):
    """The provider says that this message will never go: no further try."""


class Unanswered(Undeliverable):
    """A message was handed over and no whole answer came: it may have left. It is tried again, under the same key."""


_NO_TEXT = "too long, holds control characters, or is not in Unicode's normal form C"

LIBRARY_ERRORS: Final[Mapping[type[Exception], tuple[int, str]]] = {
    InvalidCursor: (422, "begin again with the first page"),
    InvalidValue: (422, f"a value is {_NO_TEXT}"),
    TooLarge: (413, "this is too large"),
    TransactionConflict: (503, "busy: try again in a moment"),
    Unavailable: (503, "busy: try again in a moment"),
}
"""The library's errors that a request can cause: the HTTP status, and the words. Their own words are not passed on."""
LIBRARY_STATUS: Final = {kind: status for kind, (status, _) in LIBRARY_ERRORS.items()}


def words_of(error: Exception) -> str:
    """What somebody who sent a request reads of an error."""
    if isinstance(error, ApplicationError):
        return str(error)
    return next((words for kind, (_, words) in LIBRARY_ERRORS.items() if isinstance(error, kind)), "refused")


@contextmanager
def in_field(name: str) -> Generator[None, None, None]:
    """What is refused in here is this field's fault."""
    try:
        yield
    except ApplicationError as error:
        error.field = error.field or name
        raise
    except InvalidValue as error:
        raise Invalid(f"this is {_NO_TEXT}", name) from error
