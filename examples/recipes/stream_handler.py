"""A stream handler: something follows from a change, whoever makes it, and nothing is forgotten when a program dies.

A write and then a call of another system is two steps, and a crash between them loses the second. DynamoDB keeps each
change for a day; a worker hands it to your function, and goes on behind it only when the function has returned.
"""

from singletable import ANY, Entity, Key, NotFound, Table, attr, connect
from singletable.streams import Changes, ChangeWorker, Inserted, Modified, Removed

app = Table("app", stream="new_and_old")
changes = Changes(app)


class Order(Entity, table=app, type="order"):
    customer: str
    number: int
    state: str = "open"

    @app.key
    @staticmethod
    def of_customer(customer: str, number: int = ANY) -> Key:
        """A customer's orders, by number."""
        return f"customer#{customer}", f"order#{number}"


sent: dict[str, str] = {}
"""Letters by their idempotency key: stands for a mail service that sends what has the same key once."""


@changes.on(Order).inserted
def confirm(change: Inserted[Order]) -> None:
    """A change may be handled twice, after a crash: the mail service is told which one it is."""
    sent[change.sequence] = f"{change.new.customer}: thank you for order {change.new.number}"


@changes.on(Order).modified(Order.state)
def tell_state(change: Modified[Order]) -> None:
    """Only changes of the state. `old` and `new` are what was; what is now may differ, so read what you decide on."""
    new = change.new
    sent[change.sequence] = f"{new.customer}: order {new.number} was {change.old.state}, is {new.state}"


@changes.on(Order).removed
def regret(change: Removed[Order]) -> None:
    if change.old.number == 3:
        raise NotFound("the letter's template is missing")
    sent[change.sequence] = f"{change.old.customer}: order {change.old.number} was cancelled"


def main() -> None:
    with connect("local") as db:
        for number in (1, 2, 3):
            db.create(Order(customer="ada", number=number))
        db.update(Order.of_customer("ada", 1), attr(Order.state).set("paid"))
        db.delete(Order.of_customer("ada", 2))
        db.delete(Order.of_customer("ada", 3))

        worker = ChangeWorker(db, changes)
        with db.meter() as draining:
            worker.drain(tries=2, backoff_seconds=0.01)  # what is there now; run() goes on until SIGTERM
        print(*sorted(sent.values()), sep="\n")

        for letter in worker.dead_letters():
            print("set aside after", letter.tries, "tries:", letter.error)
        sent.clear()
        worker.drain()
        print("a second time nothing is left to do:", sent)

        print("costs")
        units = f"{draining.read_units:g} read units, {draining.write_units:g} write units"
        print(f"  six changes: {units}; a poll of the stream is a request without units")
        print("An idle worker takes 3 write units in 30 seconds and half a read unit a second for each shard.")


if __name__ == "__main__":
    main()
