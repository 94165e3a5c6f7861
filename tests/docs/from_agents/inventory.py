"""An inventory: articles in warehouses, moved as a whole or not at all. Written from `agents.md` alone."""

from singletable import (
    ANY,
    ConditionFailed,
    Database,
    Entity,
    Key,
    Table,
    TransactionCancelled,
    attr,
    connect,
    field,
    starting_with,
)

depot = Table("depot", indexes=["gsi1"])


class Article(Entity, table=depot, type="article"):
    sku: str
    name: str
    barcode: str | None = field(default=None, unique=True)
    revision: int = field(version=True, default=0)

    @depot.key
    @staticmethod
    def by_sku(sku: str) -> Key:
        """One article."""
        return f"article#{sku}", "article"

    @depot.index("gsi1")
    @staticmethod
    def by_name(name: str = ANY, sku: str = ANY) -> Key:
        """Articles whose names begin so."""
        return "articles", f"{name:folded}#{sku}"


class Level(Entity, table=depot, type="level"):
    sku: str
    warehouse: str
    pieces: int = 0

    @depot.key
    @staticmethod
    def of_article(sku: str, warehouse: str = ANY) -> Key:
        """What each warehouse has of an article."""
        return f"article#{sku}", f"level#{warehouse}"

    @depot.index("gsi1")
    @staticmethod
    def of_warehouse(warehouse: str, pieces: int = ANY) -> Key:
        """What a warehouse has, the least first."""
        return f"warehouse#{warehouse}", f"{pieces}"


def receive(db: Database, sku: str, warehouse: str, pieces: int) -> int:
    return db.upsert(Level(sku=sku, warehouse=warehouse), attr(Level.pieces).add(pieces)).pieces


def move(db: Database, sku: str, source: str, target: str, pieces: int) -> str:
    try:
        with db.transaction() as tx:
            enough = attr(Level.pieces) >= pieces
            tx.update(Level.of_article(sku, source), attr(Level.pieces).add(-pieces), where=enough)
            tx.update(Level.of_article(sku, target), attr(Level.pieces).add(pieces))
            tx.check(Article.by_sku(sku), where=attr(Article.name) != "recalled")
    except TransactionCancelled as error:
        return ", ".join(f"{failure.number} {type(failure.error).__name__}" for failure in error.failures)
    return "moved"


def main() -> None:
    with connect("local") as db:
        db.create(Article(sku="n1", name="Nut, Größe 5", barcode="100"))
        assert [receive(db, "n1", where, 10) for where in ("north", "south")] == [10, 10]
        assert move(db, "n1", "north", "south", 4) == "moved"
        assert move(db, "n1", "north", "south", 7) == f"1 {ConditionFailed.__name__}"
        assert move(db, "n1", "north", "west", 1) == "2 NotFound"
        levels = db.all(Level.of_article("n1"))
        assert {level.warehouse: level.pieces for level in levels} == {"north": 6, "south": 14}
        assert [article.sku for article in db.page(Article.by_name(starting_with("nut, GROS")), limit=5)] == ["n1"]
        with db.meter() as meter:
            assert db.all(Level.of_warehouse("north"))[0].pieces == 6
        assert (meter.requests, meter.read_units) == (1, 0.5)


if __name__ == "__main__":
    main()
