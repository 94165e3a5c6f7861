"""An order and its stock: no article is sold twice, and a request that is repeated orders once.

A read of the stock before the write can't promise that. One transaction creates the order and takes each line's pieces
where enough are left; DynamoDB does all of it or nothing. The order's id is the client's, so a second try is refused.
"""

from singletable import (
    AlreadyExists,
    ConditionFailed,
    Database,
    Entity,
    Key,
    NotFound,
    Table,
    TransactionCancelled,
    attr,
    connect,
)

app = Table("app")


class Article(Entity, table=app, type="article"):
    name: str
    stock: int

    @app.key
    @staticmethod
    def by_name(name: str) -> Key:
        """One article."""
        return f"article#{name}", "article"


class Order(Entity, table=app, type="order"):
    order_id: str
    pieces: dict[str, int]

    @app.key
    @staticmethod
    def by_id(order_id: str) -> Key:
        """One order."""
        return f"order#{order_id}", "order"


def place(db: Database, order: Order) -> list[str]:
    """What stands in the way: nothing where the order is placed, now or by a try before. At most 99 articles."""
    try:
        with db.transaction() as tx:
            tx.create(order)
            for name, pieces in order.pieces.items():
                taken = attr(Article.stock).add(-pieces)
                tx.update(Article.by_name(name), taken, where=attr(Article.stock) >= pieces)
    except TransactionCancelled as cancelled:
        if any(isinstance(failure.error, AlreadyExists) for failure in cancelled.failures):
            return []
        names = ["", *order.pieces]  # the order is the transaction's first operation
        return [why(names[failure.number - 1], failure.error) for failure in cancelled.failures]
    return []


def why(name: str, error: Exception) -> str:
    if isinstance(error, ConditionFailed):
        return f"{error.stored.stock} left of {name}"  # what was stored when the order was refused: no further read
    return f"no {name}" if isinstance(error, NotFound) else f"{name}: {error}"


def main() -> None:
    with connect("local") as db:
        db.write_many(puts=[Article(name="lamp", stock=3), Article(name="desk", stock=1)])

        with db.meter() as placing:
            print("first order:", place(db, Order(order_id="o1", pieces={"lamp": 2, "desk": 1})))
        with db.meter() as repeating:
            print("the same once more:", place(db, Order(order_id="o1", pieces={"lamp": 2, "desk": 1})))
        with db.meter() as refused:
            print("second order:", place(db, Order(order_id="o2", pieces={"lamp": 2, "desk": 1, "sofa": 1})))
        print("left:", [article.stock for article in db.get_many([Article.by_name("lamp"), Article.by_name("desk")])])

        print("costs")
        print("  place: ", placing)
        print("  repeat:", repeating)
        print("  refuse:", refused)
        print("A refused write is charged like one that succeeds; DynamoDB's answer just doesn't report it.")


if __name__ == "__main__":
    main()
