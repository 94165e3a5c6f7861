"""singletable, blocking: `connect`. Objects of a typed entity."""

from __future__ import annotations

from benchmarks import workload
from benchmarks.libraries import Client
from benchmarks.libraries.ours import UPDATES, Order, make, values
from singletable import connect


def open_client(url: str) -> Client:
    db = connect(url)
    reader, writer = workload.READ_CUSTOMER, workload.WRITE_CUSTOMER
    new = make(writer, workload.PUT_NUMBER)
    four = [make(writer, number) for number in workload.TRANSACT_NUMBERS]

    def transact() -> None:
        with db.transaction() as tx:
            for order in four:
                tx.put(order)

    calls = {
        "get": lambda: db.get(Order.of_customer(reader, workload.GET_NUMBER)),
        "put": lambda: db.put(new),
        "update": lambda: db.update(Order.of_customer(writer, workload.UPDATE_NUMBER), *UPDATES),
        "query100": lambda: db.all(Order.of_customer(workload.FEW_CUSTOMER)),
        "query1000": lambda: db.all(Order.of_customer(reader)),
        "batch_get100": lambda: db.get_many([Order.of_customer(reader, n) for n in workload.BATCH_NUMBERS]),
        "transact4": transact,
    }
    return Client(calls, values, close=db.close)
