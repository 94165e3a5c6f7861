"""Situations of single requests: throttled, refused, lost, slow."""

from __future__ import annotations

from singletable import attr
from singletable.wire import Credentials, FetchedCredentials
from tests.faults.actions import ApplyThenCut, CancelTransaction, Refuse, Throttle
from tests.faults.rules import Match, Rule
from tests.situations.program import Program
from tests.situations.shop import ARN, make_shop
from tests.situations.situation import situation

_OVER = "Throughput exceeds the current capacity of your table or index."


def _throttled(program: Program, reason: str, place: str = ARN, message: str = _OVER) -> None:
    throttle = Throttle("ThrottlingException", message, reason, place)
    program.faults.add(Rule(Match(), throttle))


@situation(
    "A throttled table",
    shows="""
        TableWriteProvisionedThroughputExceeded of table shop: the provisioned capacity
        10 tries
        Raise its provisioned capacity
        """,
    records="""
        INFO RequestTried
        WARNING RequestEnded
        """,
    cause="The table has provisioned capacity, and the program writes more than that.",
    todo="Raise the capacity, switch the table to on-demand, or write less at once: bulk writes take `rate=`.",
)
async def throttled_table(program: Program) -> None:
    shop = make_shop()
    db = program.open()
    message = "The level of configured provisioned throughput for the table was exceeded."
    program.faults.add(
        Rule(
            Match(),
            Throttle("ProvisionedThroughputExceededException", message, "TableWriteProvisionedThroughputExceeded", ARN),
        )
    )
    await db.put(shop.order(customer="ada", number=1))


@situation(
    "A throttled partition",
    shows="""
        TableReadKeyRangeThroughputExceeded of table shop: one hot partition
        (Order.of_customer)
        Spread the hot key over several
        """,
    records="WARNING RequestEnded",
    cause="""One partition is asked for more than a partition gives: 3,000 read units or 1,000 write units a second. The
        pattern in parentheses says whose key it is.""",
    todo="Find the key, and spread it: shards in the key, a cache before it, or fewer writes to one counter.",
)
async def throttled_partition(program: Program) -> None:
    shop = make_shop()
    db = program.open()
    _throttled(program, "TableReadKeyRangeThroughputExceeded")
    await db.all(shop.order.of_customer("ada"))


@situation(
    "A throttled index",
    shows="""
        PutItem of shop
        IndexWriteKeyRangeThroughputExceeded of index gsi1 of shop: one hot partition
        """,
    records="WARNING RequestEnded",
    cause="""An index can't take what the table takes: a write of the table waits for it. Here all open orders are under
        one key of the index.""",
    todo="Spread the index's partition key (`{id:shard(8)}`), or leave out of the index what needs not be found.",
)
async def throttled_index(program: Program) -> None:
    shop = make_shop()
    db = program.open()
    _throttled(program, "IndexWriteKeyRangeThroughputExceeded", f"{ARN}/index/gsi1")
    await db.put(shop.order(customer="ada", number=1))


@situation(
    "A hot key",
    shows="""
        (Order.of_customer, Stock.by_article)
        another writer is at work on the item of action 2 of 2
        let fewer writers meet in one item
        """,
    records="""
        INFO RequestTried
        WARNING RequestEnded
        """,
    cause="""Many writers change one item at the same moment, here the stock of an article that everybody buys: their
        transactions refuse each other. The patterns in parentheses are in the order of the actions.""",
    todo="""Spread what they count over several items ([counters](../../examples/recipes/counters.py)), write it outside
        of the transaction, or let one worker write it.""",
)
async def hot_key(program: Program) -> None:
    shop = make_shop()
    db = program.open()
    await db.put(shop.stock(article="tea", pieces=1_000))
    reasons = ("None", "TransactionConflict")
    program.faults.add(Rule(Match("TransactWriteItems"), CancelTransaction(reasons)))
    async with db.transaction() as tx:
        tx.create(shop.order(customer="ada", number=1))
        tx.update(shop.stock.by_article("tea"), attr(shop.stock.pieces).add(-1))


@situation(
    "Expired credentials",
    shows="""
        ExpiredTokenException: The security token included in the request is expired
        Renew the credentials from `credentials=` of this program (access key AKIA...MPLE)
        were the same when fetched again
        """,
    records="WARNING RequestEnded",
    cause="The credentials were valid, and are no longer; fetched again they are the same.",
    todo="Renew the session (`aws sso login`), or give the program a role that renews its own.",
)
async def expired_credentials(program: Program) -> None:
    shop = make_shop()
    db = program.open()
    message = "The security token included in the request is expired"
    program.faults.add(Rule(Match(), Refuse("ExpiredTokenException", message)))
    await db.get(shop.order.of_customer("ada", 1))


@situation(
    "Wrong credentials",
    shows="""
        UnrecognizedClientException: The security token included in the request is invalid
        Replace the credentials from `credentials=` of this program (access key AKIA...MPLE)
        """,
    records="WARNING RequestEnded",
    cause="No account knows the access key: it was deleted, is of another partition of AWS, or is mistyped.",
    todo="Replace them where they came from, which the text says, with the ends of the access key.",
)
async def wrong_credentials(program: Program) -> None:
    shop = make_shop()
    db = program.open()
    message = "The security token included in the request is invalid."
    program.faults.add(Rule(Match(), Refuse("UnrecognizedClientException", message)))
    await db.get(shop.order.of_customer("ada", 1))


@situation(
    "A wrong region",
    shows="""
        the table does not exist
        region eu-west-1 from `region=`, endpoint https://dynamodb.eu-west-1.amazonaws.com
        Ask the region and account that have it
        """,
    records="WARNING TableMissing",
    cause="The table is in another region, or another account, than the one that was asked.",
    todo="""Compare the region with that of the table, and set it where the text says it came from. Create nothing
        there.""",
)
async def wrong_region(program: Program) -> None:
    shop = make_shop()
    db = program.open(region="eu-west-1")
    await db.get(shop.order.of_customer("ada", 1))


@situation(
    "A skewed clock",
    shows="""
        this machine's clock is 31 min behind that of
        requests are signed by the service's clock
        """,
    records="INFO RequestTried",
    cause="The machine's clock is wrong, and the service refuses signatures that are five minutes off.",
    todo="""Set the clock, and run NTP. The library goes on by the service's time: nothing fails but the first
        request.""",
)
async def skewed_clock(program: Program) -> None:
    shop = make_shop()
    db = program.open(wall_is_ahead=-1860.0)
    await db.get(shop.order.of_customer("ada", 1))


@situation(
    "A denied action",
    shows="""
        AccessDeniedException
        Allow dynamodb:PutItem on arn:aws:dynamodb:eu-central-1:123456789012:table/shop to the role web
        """,
    records="WARNING RequestEnded",
    cause="The role lacks the permission that the text names.",
    todo="Add the action on that table to the role: `singletable deploy` writes roles from the declarations.",
)
async def denied_action(program: Program) -> None:
    shop = make_shop()
    db = program.open()
    message = (
        "User: arn:aws:sts::123456789012:assumed-role/web/web is not authorized to perform: dynamodb:PutItem on "
        f"resource: {ARN} because no identity-based policy allows the dynamodb:PutItem action"
    )
    program.faults.add(Rule(Match("PutItem"), Refuse("AccessDeniedException", message)))
    await db.put(shop.order(customer="ada", number=1))


@situation(
    "A lost answer",
    shows="""
        OutcomeUnknown
        No answer from https://dynamodb.eu-central-1.amazonaws.com
        Read what it writes before you repeat it
        """,
    records="WARNING RequestEnded",
    cause="""A request was sent, and the connection ended before its answer: the write may have been done. It adds to a
        number, so the library does not repeat it.""",
    todo="Read the item, then decide; or write with `exactly_once=True`, which the library may repeat.",
)
async def lost_answer(program: Program) -> None:
    shop = make_shop()
    db = program.open()
    await db.put(shop.order(customer="ada", number=1))
    program.faults.add(Rule(Match("UpdateItem"), ApplyThenCut()))
    await db.update(shop.order.of_customer("ada", 1), attr(shop.order.total).add(10))


@situation(
    "An engine that is gone",
    shows="""
        Could not connect to http://127.0.0.1:1
        Check the endpoint and the network
        """,
    records="""
        INFO RequestTried
        WARNING RequestEnded
        """,
    cause="Nobody listens at the address, or the way to it is closed.",
    todo="Start the engine, or mend the network, the proxy or the VPC endpoint. Nothing was written.",
)
async def engine_gone(program: Program) -> None:
    shop = make_shop()
    db = program.open("http://127.0.0.1:1")  # a port where nobody listens
    await db.get(shop.order.of_customer("ada", 1))


@situation(
    "An item that is too large",
    shows="""
        an item of 410108 bytes; DynamoDB allows 409600
        Its largest attributes: note (410004 bytes)
        """,
    cause="An item holds 400 KB at the most; the text names its largest attributes.",
    todo="Put the content outside of the item, as documents do, or split it over several. Nothing was sent.",
)
async def large_item(program: Program) -> None:
    shop = make_shop()
    db = program.open()
    await db.put(shop.order(customer="ada", number=1, note="x" * 410_000))


@situation(
    "A slow call",
    shows="""
        Query of shop: try 1, ok
        (slow: from signing
        """,
    records="INFO RequestTried",
    cause="""The service took over a second to answer a request that it took at once: a busy network, a proxy, or an
        event loop that something blocks. Nothing failed.""",
    todo="Look at the milliseconds of the same call elsewhere; `asyncio` debug mode shows what blocks a loop.",
)
async def slow_call(program: Program) -> None:
    shop = make_shop()
    db = program.open()
    await db.put(shop.order(customer="ada", number=1))
    program.latency = 3.2
    await db.all(shop.order.of_customer("ada"))
    program.latency = 0.004
    await db.all(shop.order.of_customer("ada"))


@situation(
    "A cold start",
    shows="""
        cold start: the first request
        took 730 ms: of these 310 ms for credentials
        """,
    records="INFO FirstAnswered",
    cause="The first request of a process fetches credentials and opens a connection; none after it does.",
    todo="Connect outside of the handler, so that the next invocations find it; send a first read while nobody waits.",
)
async def cold_start(program: Program) -> None:
    shop = make_shop()

    def fetch() -> Credentials:
        program.loop.pass_time(0.31)
        return Credentials("AKIAIOSFODNN7EXAMPLE", "a-secret-of-an-example")

    db = program.open(credentials=FetchedCredentials(fetch))
    program.latency = 0.42
    await db.get(shop.order.of_customer("ada", 1))
    program.latency = 0.004
    await db.get(shop.order.of_customer("ada", 2))
