"""Whom a form offers, and who is meant by what somebody typed into it.

A name is typed, whether the form offers it or not. Where several have it, `contact:ID`, `rota:ID` or `policy:ID` is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from examples_shared.errors import in_field
from examples_shared.forms import Fields
from examples_shared.textfile import shown
from manhunt.errors import Invalid
from manhunt.model import Contact, Policy, Rota, Target, TargetKind
from manhunt.service import Service
from singletable import Query

CHOICES = 1000
"""How many names of each kind a form offers."""
MORE = 3
"""How many more a form takes at once."""
CONTACT, ROTA, POLICY = TargetKind.CONTACT.value, TargetKind.ROTA.value, "policy"
_BY_NAME: Final[dict[str, Callable[..., Query[Any]]]] = {
    CONTACT: Contact.by_domain,
    ROTA: Rota.by_domain,
    POLICY: Policy.by_domain,
}
_BY_ID: Final[dict[str, Callable[[str], Any]]] = {CONTACT: Contact.by_id, ROTA: Rota.by_id, POLICY: Policy.by_id}


@dataclass(frozen=True)
class Choice:
    """What is typed for somebody, and what they are."""

    value: str
    label: str


def choices(app: Service, domain: str, *kinds: str) -> list[Choice]:
    """By kind and name. A request for each kind: 0.5 R for each 4 KB of them."""
    found = [(kind, each) for kind in kinds for each in _named(app, domain, kind, CHOICES)]
    names = Counter(each.name for _, each in found)
    return [
        Choice(each.name, f"on call in {each.name}" if kind == ROTA else each.name)
        if names[each.name] == 1 and not _is_marked(each.name)
        else Choice(f"{kind}:{id_of(kind, each)}", each.name)
        for kind, each in found
    ]


def chosen(app: Service, domain: str, form: Fields, field: str, *kinds: str) -> tuple[str, str]:
    """The kind and the id of whoever is typed in a field. A request for each kind; none for `contact:ID`. Invalid."""
    with in_field(field):
        text = form.text(field)
        kind, _, id = text.partition(":")
        if kind in kinds and id:
            return kind, id
        found = [(kind, id_of(kind, each)) for kind in kinds for each in _named(app, domain, kind, 2, text) if text]
        if len(found) == 1:
            return found[0]
        if not found:
            raise Invalid(f"nothing is called {shown(text)}: type a name as it is, or {kinds[0]}:ID")
        raise Invalid(f"several are called {shown(text)}: type {' or '.join(f'{kind}:{id}' for kind, id in found)}")


def more_chosen(app: Service, domain: str, form: Fields, fields: Iterable[str], *kinds: str) -> list[Target]:
    """Whoever is typed in those fields that are filled in."""
    named = [chosen(app, domain, form, field, *kinds) for field in fields if form.text(field)]
    return [Target(TargetKind(kind), id) for kind, id in named]


def more_fields(name: str) -> list[str]:
    """The names of a form's fields for more of something."""
    return [f"{name}-{number}" for number in range(1, MORE + 1)]


def names_of(app: Service, kind: str, ids: Iterable[str]) -> dict[str, str]:
    """The names of those that are there, by id. A batch."""
    keys = [_BY_ID[kind](id) for id in dict.fromkeys(ids)]
    return {id_of(kind, each): each.name for each in app.db.get_many(keys)} if keys else {}


def id_of(kind: str, record: Any) -> str:
    id: str = getattr(record, f"{kind}_id")
    return id


def _is_marked(name: str) -> bool:
    return name.partition(":")[0] in _BY_NAME and ":" in name


def _named(app: Service, domain: str, kind: str, limit: int, *name: str) -> Sequence[Any]:
    return app.db.page(_BY_NAME[kind](domain, *name), limit=limit, principal=domain).items
