from datetime import date

from singletable import ANY, Collection, Entity, Key, Table, at_least, attr, collect, connect

library = Table("library", indexes=["gsi1"])


class Reader(Entity, table=library, type="reader"):
    email: str
    name: str
    city: str | None = None

    @library.key
    @staticmethod
    def by_email(email: str) -> Key:
        """One reader."""
        return f"reader#{email}", "reader"

    @library.index("gsi1")
    @staticmethod
    def by_city(city: str, name: str = ANY) -> Key:
        """The readers of a city, by name."""
        return f"city#{city}", f"{name}"


class Loan(Entity, table=library, type="loan"):
    email: str
    due: date
    isbn: str
    title: str

    @library.key
    @staticmethod
    def of_reader(email: str, due: date = ANY, isbn: str = ANY) -> Key:
        """What a reader has borrowed, by the day it is due."""
        return f"reader#{email}", f"loan#{due}#{isbn}"


db = connect("local")

ada = Reader(email="ada@example.org", name="Ada", city="Turin")
db.create(ada)
db.create(Loan(email="ada@example.org", due=date(2026, 3, 2), isbn="978-0-14", title="Dunes"))
db.create(Loan(email="ada@example.org", due=date(2026, 3, 9), isbn="978-1-59", title="Rivers"))

print(db.get(Reader.by_email("ada@example.org")))

for loan in db.iter(Loan.of_reader("ada@example.org", due=at_least(date(2026, 3, 5)))):
    print(loan.due, loan.title)

moved = db.update(Reader.by_email("ada@example.org"), attr(Reader.city).set("Milan"))
print(moved.city, len(db.all(Reader.by_city("Turin"))), len(db.all(Reader.by_city("Milan"))))


class Card(Collection):
    reader: Reader
    loans: list[Loan]

    by_email = collect(Reader.by_email)


with db.meter() as meter:
    card = db.get(Card.by_email("ada@example.org").consistent())
assert card is not None
print(card.reader.name, [loan.title for loan in card.loans])
print(meter.requests, "request,", meter.read_units, "read unit")

db.close()
