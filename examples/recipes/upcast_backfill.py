"""A changed attribute: items of the old form are read as the new one at once, and rewritten in the background.

The new class says how an item of version 1 becomes one of version 2. Reads and updates work from the first deployment
on. A fill is needed for what DynamoDB itself looks at: filters, keys of an index. The old program must end first.
"""

from typing import Any

from singletable import ANY, Entity, Key, KeyOf, Table, attr, connect, field, key_of
from singletable.migrations import Migrations

before = Table("people", indexes=["gsi1"])
people = Table("people", indexes=["gsi1"])
"""The same table, as the old program and as the new one declare it."""


class OldPerson(Entity, table=before, type="person"):
    """The class as it was: the name is one text."""

    person_id: str
    name: str
    revision: int = field(version=True, default=0)

    @before.key
    @staticmethod
    def by_id(person_id: str) -> Key:
        """One person."""
        return f"person#{person_id}", "person"


class Person(Entity, table=people, type="person", version=2):  # with stored_as=1 both programs may run
    """The class as it is: two names, and an index by the last one."""

    person_id: str
    given_name: str
    last_name: str
    revision: int = field(version=True, default=0)

    @people.key
    @staticmethod
    def by_id(person_id: str) -> Key:
        """One person."""
        return f"person#{person_id}", "person"

    @people.index("gsi1")
    @staticmethod
    def by_last_name(last_name: str, given_name: str = ANY, person_id: str = ANY) -> Key:
        """People of one last name."""
        return f"last-name#{last_name}", f"{given_name}#{person_id}"


@Person.upcast(1)
def two_names(stored: dict[str, Any]) -> dict[str, Any]:
    """A version 1 item as version 2. It runs whenever one is read, and changes nothing in the table."""
    given, _, last = stored["name"].rpartition(" ")
    kept = {name: value for name, value in stored.items() if name != "name"}
    return {**kept, "given_name": given, "last_name": last}


def main() -> None:
    with connect("local") as db:
        for number, name in enumerate(["Ada Lovelace", "Grace Hopper", "Joan Clarke"]):
            db.create(OldPerson(person_id=f"p{number}", name=name))

        one: KeyOf[Person] = Person.by_id("p0")
        with db.meter() as reading:
            print("read as the new class:", db.get(one))
        print("by the index:", db.all(Person.by_last_name("Lovelace")))
        with db.meter() as updating:
            db.update(one, attr(Person.given_name).set("Augusta"))
        print("an update rewrites its item:", [key_of(p) == one for p in db.all(Person.by_last_name("Lovelace"))])

        with db.meter() as filling:
            print("filled:", Migrations(db, people).fill().written)
        print("by the index:", [person.given_name for person in db.all(Person.by_last_name("Hopper"))])
        print("what is not as it should be:", db.check(people))

        print("costs")
        print("  read an old item:     ", reading)
        print("  update an old item:   ", updating)
        print("  fill three items:     ", filling)


if __name__ == "__main__":
    main()
