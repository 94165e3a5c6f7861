"""A task: work for later that is neither forgotten nor done for something that was never written.

The task is an item of your table, so it commits in the transaction of its data, or is cancelled in one. Workers run it
at least once from its time on; put its end into the transaction of its effect, and the effect happens once.
"""

from datetime import datetime, timedelta, timezone

from singletable import Entity, Key, Table, attr, connect
from singletable.tasks import Backoff, Tasks, TaskWorker

app = Table("app", indexes=["gsi1"])
tasks = Tasks(app, index="gsi1")


class Invoice(Entity, table=app, type="invoice"):
    number: str
    is_paid: bool = False
    reminders: int = 0

    @app.key
    @staticmethod
    def by_number(number: str) -> Key:
        """One invoice."""
        return f"invoice#{number}", "invoice"


class Clock:
    """A clock that can be moved, so that two weeks pass at once."""

    now = datetime(2026, 3, 1, tzinfo=timezone.utc)


clock = Clock()
db = connect("local", clock=lambda: clock.now.timestamp())
post: list[str] = []


@tasks.task(tries=3, backoff=Backoff(first_seconds=60))
def remind(number: str) -> None:
    """The letter is counted and the task ended in one transaction. `key` names the letter for whoever sends it."""
    post.append(f"a reminder of invoice {number}, as {tasks.running().key}")
    with db.transaction() as tx:
        tx.update(Invoice.by_number(number), attr(Invoice.reminders).add(1))
        tx.add(tasks.done())


@tasks.task(tries=2, backoff=Backoff(first_seconds=60))
def charge(number: str) -> None:
    raise ConnectionError("the bank does not answer")


def issue(number: str) -> None:
    """An invoice and its reminder in two weeks, or neither. TransactionCancelled where the number is taken."""
    with db.transaction() as tx:
        tx.create(Invoice(number=number))
        tx.add(tasks.after(timedelta(days=14), remind(number), key=f"remind-{number}"))


def pay(number: str) -> None:
    """Paid, and nobody is reminded. It is not an error where the reminder is out already."""
    with db.transaction() as tx:
        tx.update(Invoice.by_number(number), attr(Invoice.is_paid).set(True))
        tx.add(tasks.cancel(f"remind-{number}"))


def main() -> None:
    worker = TaskWorker(db, tasks)
    with db:
        with db.meter() as issuing:
            issue("1")
        issue("2")
        with db.meter() as paying:
            pay("2")
        print("due today:", worker.drain().done)

        clock.now += timedelta(days=14)
        with db.meter() as draining:
            print("due in two weeks:", worker.drain().done)
        print("sent:", post)
        invoice = db.get(Invoice.by_number("1"))
        print("reminders of invoice 1:", invoice.reminders if invoice else None)

        with db.transaction() as tx:
            tx.add(tasks.after(timedelta(0), charge("1"), key="charge-1"))
        for _ in range(2):
            worker.drain()
            clock.now += timedelta(minutes=1)
        for letter in worker.dead_letters():
            print("dead after", letter.tries, "tries:", letter.key, letter.error)
        worker.retry("charge-1")

        print("costs")
        print("  an invoice with its task:", issuing)
        print("  pay and cancel:          ", paying)
        print("  find and run one task:   ", draining)


if __name__ == "__main__":
    main()
