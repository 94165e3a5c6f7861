"""AWS Lambda: handlers of a table's stream and of tasks that come through a queue, without a worker that waits.

Each handler is one line. The event source mappings need `FunctionResponseTypes: [ReportBatchItemFailures]`: the answer
names what failed, and only that comes again. Events are dicts, so a test makes one and calls the handler.
"""

import json
from datetime import timedelta
from typing import Any

from singletable import Entity, Key, Table, attr, connect
from singletable.streams import Changes, ChangeWorker, Inserted
from singletable.tasks import Tasks, TaskWorker

app = Table("app", indexes=["gsi1"], stream="new_and_old")
changes, tasks = Changes(app), Tasks(app, index="gsi1")


class User(Entity, table=app, type="user"):
    user_id: str
    welcomes: int = 0

    @app.key
    @staticmethod
    def by_id(user_id: str) -> Key:
        """One user."""
        return f"user#{user_id}", "user"


db = connect("local")  # in Lambda: connect("aws"), outside of the handlers, so that its connections are kept


@changes.on(User).inserted
def plan_welcome(change: Inserted[User]) -> None:
    """The task's key is the user's: a change that comes twice finds the task there, or cancels it for the same one."""
    key = f"welcome-{change.new.user_id}"
    with db.transaction() as tx:
        tx.add(tasks.cancel(key))
        tx.add(tasks.after(timedelta(0), welcome(change.new.user_id), key=key))


@tasks.task
def welcome(user_id: str) -> None:
    with db.transaction() as tx:
        tx.update(User.by_id(user_id), attr(User.welcomes).add(1))
        tx.add(tasks.done())


on_stream = ChangeWorker(db, changes).lambda_handler()
"""Behind the table's stream."""
on_queue = TaskWorker(db, tasks).lambda_handler()
"""Behind the queue that `TaskWorker(db, tasks).send_due(queue)` sends to, called each minute by a schedule."""


# --- what AWS does, done by hand --------------------------------------------------------------------------------------
def stream_event(*user_ids: str) -> dict[str, Any]:
    """Users that were inserted, as DynamoDB Streams hands them to a Lambda function."""
    return {"Records": [stream_record(number, user_id) for number, user_id in enumerate(user_ids, start=1)]}


def stream_record(number: int, user_id: str) -> dict[str, Any]:
    key = {"pk": {"S": f"user#{user_id}"}, "sk": {"S": "user"}}
    image = key | {"_type": {"S": "user"}, "_v": {"N": "1"}, "user_id": {"S": user_id}, "welcomes": {"N": "0"}}
    return {
        "eventID": str(number),
        "eventName": "INSERT",
        "eventSource": "aws:dynamodb",
        "dynamodb": {"Keys": key, "NewImage": image, "SequenceNumber": str(number)},
    }


def queue_event() -> dict[str, Any]:
    """The tasks that are in the table, as SQS hands them over: a message holds a task's key and fence."""
    found = sorted((task.id, task.fence) for task in db.scan(tasks.entity))
    records = [
        {
            "messageId": f"m{number}",
            "receiptHandle": f"r{number}",
            "body": json.dumps({"key": key, "fence": fence}),
            "attributes": {"ApproximateReceiveCount": "1"},
            "eventSource": "aws:sqs",
        }
        for number, (key, fence) in enumerate(found, start=1)
    ]
    return {"Records": records}


def main() -> None:
    with db:
        for user_id in ("ada", "ben"):
            db.create(User(user_id=user_id))
        with db.meter() as planning:
            print("the stream's answer:", on_stream(stream_event("ada", "ben"), None))
        print("the same records again:", on_stream(stream_event("ada", "ben"), None))

        event = queue_event()
        with db.meter() as running:
            print("the queue's answer:", on_queue(event, None))
        print("the same messages again:", on_queue(event, None))
        print("welcomes:", {user.user_id: user.welcomes for user in db.scan(User)})

        db.create(User(user_id="eve"))
        on_stream(stream_event("eve"), None)
        db.delete(User.by_id("eve"))
        print("a task that fails is tried again by the table, not by the queue:", on_queue(queue_event(), None))

        print("costs")
        print("  two records:  ", planning)
        print("  two messages: ", running)


if __name__ == "__main__":
    main()
