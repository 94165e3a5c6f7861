"""Athena, asked through a database's connection."""

from __future__ import annotations

import os

from singletable.exchange import Store, datasets_of, read_manifest, store_at
from singletable.flow.shells import check_awaiting
from singletable.foundation import AwaitingDatabase, Table
from singletable.reports import athena_queries
from singletable.reports.athena_queries import DOLLARS_PER_TB, AthenaAnswer, AthenaPlace
from singletable.reports.athena_tables import athena_statements


class AsyncAthena:
    """Asks Athena what an export in S3 holds, with the credentials and the region of a database.

    AsyncAthena(db, "shop", output="s3://reports/results/").query("SELECT count(*) FROM customer")
    """

    def __init__(
        self,
        db: AwaitingDatabase,
        database: str,
        *,
        output: str = "",
        workgroup: str = "primary",
        dollars_per_tb: float = DOLLARS_PER_TB,
    ) -> None:
        check_awaiting(db, "AsyncAthena")
        self.db, self.place = db, AthenaPlace(database, output, workgroup)
        self.dollars_per_tb = dollars_per_tb

    async def publish(self, export: str | os.PathLike[str] | Store, *tables: Table) -> int:
        """Bring Athena's database to an export: its tables, today's partition, its views. How many statements that was.

        It reads no data and costs nothing. InvalidRequest for an export that is not Parquet in S3, and for what Athena
        fails; NotFound without an export.
        """
        store = store_at(export)
        made = athena_statements(read_manifest(store), store.url, self.place.database, datasets_of(*tables))
        return await self.db.run(athena_queries.publish(self.db.port, self.place, made))

    async def query(self, sql: str) -> AthenaAnswer:
        """The answer to one SELECT, with the bytes that it scanned and their price: 10 MB at least.

        InvalidRequest for a statement that writes, and for what Athena fails.
        """
        return await self.db.run(athena_queries.ask(self.db.port, self.place, sql, self.dollars_per_tb))
