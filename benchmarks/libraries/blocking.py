"""singletable, blocking: `connect`. Objects of typed entities, inside a meter."""

from __future__ import annotations

import os
from collections import deque
from itertools import islice

from benchmarks import workload
from benchmarks.libraries import Call, Client, Places, at_once
from benchmarks.libraries.ours import UPDATES, Note, Order, make, values
from singletable import Database, connect


def open_client(url: str) -> Client:
    db = connect(url, ca_file=os.environ.get("AWS_CA_BUNDLE"))
    db.meter().__enter__()  # for as long as the process lives
    return client_of(db)


def client_of(db: Database) -> Client:
    reader, writer = workload.READ_CUSTOMER, workload.WRITE_CUSTOMER
    new = make(writer, workload.PUT_NUMBER)
    four = [make(writer, number) for number in workload.TRANSACT_NUMBERS]

    def get() -> Order | None:
        return db.get(Order.of_customer(reader, workload.GET_NUMBER))

    def transact() -> None:
        with db.transaction() as tx:
            for order in four:
                tx.put(order)

    def stream(count: int) -> None:
        deque(islice(db.iter(Order.of_customer(workload.STREAM_CUSTOMER)), count), maxlen=0)

    def write_many(places: Places) -> Call:
        orders = [make(*place) for place in places]
        return lambda: db.write_many(puts=orders)

    calls = {
        "get": get,
        "put": lambda: db.put(new),
        "update": lambda: db.update(Order.of_customer(writer, workload.UPDATE_NUMBER), *UPDATES),
        "query100": lambda: db.all(Order.of_customer(workload.FEW_CUSTOMER)),
        "query1000": lambda: db.all(Order.of_customer(reader)),
        "batch_get100": lambda: db.get_many([Order.of_customer(reader, n) for n in workload.BATCH_NUMBERS]),
        "transact4": transact,
        "mixed100": lambda: db.all(Order.of_customer(workload.MIXED_CUSTOMER).also(Note)),
        "gets32": at_once(get),
    }
    return Client(calls, values, stream=stream, write_many=write_many, close=db.close)
