"""SQS queues: typed messages, sent in batches and handled at least once, in order within a group.

    orders = Queue("https://sqs.eu-central-1.amazonaws.com/123/orders.fifo", Order)
    await send(port, orders, [Outgoing(order, group=order.customer, deduplication=order.id)])
    await consume(port, orders, handle, stop=event.is_set)

Begin with `queue` (a queue and its messages), then `sender` and `consumer`. All are flows over a port: a database's
`run` runs them.
"""

from singletable.queues.consumer import (
    Handle as Handle,
    RetryLater as RetryLater,
    consume as consume,
    partial_failures as partial_failures,
)
from singletable.queues.queue import Message as Message, Outgoing as Outgoing, Queue as Queue
from singletable.queues.sender import legal_id as legal_id, send as send
