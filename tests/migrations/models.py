"""One table as two versions of a program declare it."""

from __future__ import annotations

from typing import Any

from singletable import ANY, Entity, Key, Table, field

old = Table("people")
new = Table("people", indexes=["gsi1"])


class OldPerson(Entity, table=old, type="person"):
    id: int
    name: str
    city: str | None = None
    visits: int = 0
    revision: int = field(version=True, default=0)

    @old.key
    @staticmethod
    def by_id(id: int) -> Key:
        """One."""
        return f"person#{id}", "person"


class OldPlace(Entity, table=old, type="place"):
    id: int
    kind: str = "park"

    @old.key
    @staticmethod
    def by_id(id: int) -> Key:
        """One."""
        return f"place#{id}", "place"


class Person(Entity, table=new, type="person", version=2):
    """The name in two, and listed by city."""

    id: int
    first: str
    last: str
    city: str | None = None
    visits: int = 0
    revision: int = field(version=True, default=0)

    @new.key
    @staticmethod
    def by_id(id: int) -> Key:
        """One."""
        return f"person#{id}", "person"

    @new.index("gsi1")
    @staticmethod
    def by_city(city: str, last: str = ANY, id: int = ANY) -> Key:
        """Who lives in a city."""
        return f"city#{city}", f"{last}#{id}"


@Person.upcast(1)
def name_in_two(item: dict[str, Any]) -> dict[str, Any]:
    first, _, last = item.pop("name").partition(" ")
    return {**item, "first": first, "last": last}


class Place(Entity, table=new, type="place"):
    """Of the same version, with an index that is new."""

    id: int
    kind: str = "park"

    @new.key
    @staticmethod
    def by_id(id: int) -> Key:
        """One."""
        return f"place#{id}", "place"

    @new.index("gsi1")
    @staticmethod
    def by_kind(kind: str, id: int = ANY) -> Key:
        """All of a kind."""
        return f"kind#{kind}", f"{id}"


def written(person: OldPerson) -> Person:
    """The person as the newer program reads it."""
    first, _, last = person.name.partition(" ")
    return Person(
        id=person.id, first=first, last=last, city=person.city, visits=person.visits, revision=person.revision
    )
