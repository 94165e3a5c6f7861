"""How long a program takes until it has a client, and until it has its first item, in a fresh interpreter each time.

Timed inside the interpreter, from its first statement on: what Python itself takes to start is the same for all.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from benchmarks.measure import Bench, Samples, Say, environment

_FRAME: Final = """
import json, time
began, began_cpu = time.perf_counter(), time.process_time()
def passed(): return {{"cpu": time.process_time() - began_cpu, "wall": time.perf_counter() - began}}
url = {url!r}
{start}
client_made = passed()
{first}
print(json.dumps([client_made, passed()]))
"""
_ADDRESS: Final = {"pk": "customer#customer-0001", "sk": "order#000007"}
_TYPED: Final = {name: {"S": text} for name, text in _ADDRESS.items()}
_READ_TYPED: Final = "{n: TypeDeserializer().deserialize(v) for n, v in found['Item'].items()}"


@dataclass(frozen=True)
class Start:
    """A program as short as the library's documentation has it: the import and a client; then a get of one item."""

    start: str
    first: str


STARTS: Final[Mapping[str, Start]] = {
    "singletable": Start(
        "import singletable; db = singletable.connect(url)",
        "from benchmarks.libraries.ours import Order; db.get(Order.of_customer('customer-0001', 7))",
    ),
    "singletable_async": Start(
        "import singletable; db = singletable.connect_async(url)",
        "from benchmarks.libraries.ours import Order; import asyncio\n"
        "asyncio.run(db.get(Order.of_customer('customer-0001', 7)))",
    ),
    "boto3": Start(
        "import boto3; client = boto3.client('dynamodb', endpoint_url=url)",
        "from boto3.dynamodb.types import TypeDeserializer\n"
        f"found = client.get_item(TableName='orders', Key={_TYPED}); {_READ_TYPED}",
    ),
    "boto3_resource": Start(
        "import boto3; table = boto3.resource('dynamodb', endpoint_url=url).Table('orders')",
        f"table.get_item(Key={_ADDRESS})",
    ),
    "pynamodb": Start(
        "from pynamodb.connection import Connection; Connection(host=url)",
        "from benchmarks.libraries.pynamodb import Order; Order.Meta.host = url\n"
        "Order.get('customer#customer-0001', 'order#000007')",
    ),
    "pydynantic": Start(
        "import boto3, pydynantic; pydynantic.Table(name='orders', client=boto3.client('dynamodb', endpoint_url=url))",
        "from benchmarks.libraries.pydynantic import open_client; open_client(url).calls['get']()",
    ),
    "dyntastic": Start(
        "import dyntastic, boto3; boto3.resource('dynamodb', endpoint_url=url)",
        "from benchmarks.libraries.dyntastic import Order; Order.__table_host__ = url\n"
        "Order.get('customer#customer-0001', 'order#000007')",
    ),
    "pydynox": Start(
        "import pydynox; client = pydynox.DynamoDBClient(endpoint_url=url); pydynox.set_default_client(client)",
        f"from benchmarks.libraries.pydynox import Order; Order.sync_get(**{_ADDRESS})",
    ),
    "pydynox_async": Start(
        "import pydynox; client = pydynox.DynamoDBClient(endpoint_url=url); pydynox.set_default_client(client)",
        f"from benchmarks.libraries.pydynox import Order; import asyncio; asyncio.run(Order.get(**{_ADDRESS}))",
    ),
    "aiodynamo": Start(
        "import asyncio; from benchmarks.libraries.aiodynamo import open_client; client = open_client(url)",
        "client.run(client.calls['get']())",
    ),
    "aiobotocore": Start(
        "import asyncio; from benchmarks.libraries.aiobotocore import open_client; client = open_client(url)",
        "client.run(client.calls['get']())",
    ),
    "dynamoxy": Start(
        "import dynamoxy; client = dynamoxy.Client(endpoint_url=url)",
        "from benchmarks.libraries.dynamoxy import Order; import asyncio\n"
        "asyncio.run(client.repository(Order).get(customer='customer-0001', number=7))",
    ),
    "aws_sdk": Start(
        "import asyncio; from benchmarks.libraries.aws_sdk import open_client; client = open_client(url)",
        "client.run(client.calls['get']())",
    ),
}


@dataclass
class Started:
    """Of one library: until it has a client, and until it has an item."""

    client: Samples = field(default_factory=Samples)
    item: Samples = field(default_factory=Samples)


def run(bench: Bench, libraries: Sequence[str], rounds: int, say: Say) -> dict[str, Started]:
    """One fresh interpreter each a round, in turn."""
    say("import, first client, first item, in fresh interpreters")
    found = {name: Started() for name in STARTS if name in libraries}
    for number in range(rounds + 1):
        for name, started in found.items():
            bench.server.replay(f"{name}/get")
            client, item = _start(STARTS[name], bench.server.url)
            if number:  # the first fills the disk's cache and writes the bytecode
                started.client.add(client, 1)
                started.item.add(item, 1)
    return found


def _start(start: Start, url: str) -> Sequence[Mapping[str, float]]:
    command = [sys.executable, "-c", _FRAME.format(url=url, start=start.start, first=start.first)]
    done = subprocess.run(command, env=environment(), check=False, capture_output=True, text=True)
    if done.returncode:  # else what it says there is of connections that it leaves open
        raise RuntimeError(f"the program failed: {start.start}; {start.first}\n{done.stderr}")
    answer: Sequence[Mapping[str, float]] = json.loads(done.stdout.splitlines()[-1])
    return answer
