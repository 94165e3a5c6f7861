"""The depth of queues on the page of work, on an emulator of SQS."""

from __future__ import annotations

import secrets

from singletable import connect, connect_async
from singletable.flow import SQS
from singletable.operations import TableCall
from singletable.queues import Outgoing, Queue, send
from tests.studio.views.work import declare
from tests.studio.visitor import shown, visiting
from tests.support.emulators import aws_emulator
from tests.support.queue_operations import CreateQueue

__all__ = ["aws_emulator"]


async def test_the_depth_of_a_queue_is_shown(aws_emulator: str) -> None:
    with connect(aws_emulator, region="us-east-1") as blocking:
        shop = declare(blocking)
        blocking.create_table(shop.table)
        url = blocking.run(blocking.port.to(SQS).send(CreateQueue(f"mail-{secrets.token_hex(4)}", {})))
        blocking.run(send(blocking.port, Queue(url, dict), [Outgoing({"n": n}) for n in range(3)]))
        async with connect_async(aws_emulator, region="us-east-1") as db:
            gone = url.replace("mail-", "gone-")
            async with visiting(db, shop.table, queues=(url, gone)) as visitor:
                queues = (await visitor.json("/work/shop.json"))["queues"]
                text = shown(await visitor.page("/work/shop"))
        blocking.run(blocking.port.send(TableCall("DeleteTable", {"TableName": shop.table.name})))
    assert [(each["depth"] or {}).get("waiting") for each in queues] == [3, None]
    assert "queue gone-" in queues[1]["note"]
    assert f"{url.rpartition('/')[2]} 3 0 0" in text
