"""SQL over an export, by DuckDB: a view a class, a view a relation, and nothing else that a query could reach.

    with open_export("exports", shop) as session:
        session.query("SELECT state, count(*) FROM orders GROUP BY ALL").arrow

A query reads. DuckDB is told to reach no file but the export's, to load no extension and to keep that; and a statement
that is not a SELECT is refused before it is run.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.dataset as pads

from singletable.errors import InvalidRequest, SingletableError, Unavailable
from singletable.exchange import (
    Dataset,
    DatasetFiles,
    DirectoryStore,
    Exports,
    Manifest,
    Store,
    datasets_of,
    read_manifest,
    store_at,
)
from singletable.exchange.manifest import dataset_files
from singletable.exchange.personal_columns import personal_columns
from singletable.flow.rate import Rate
from singletable.foundation import BlockingDatabase, Table
from singletable.reports.answers import Answer
from singletable.reports.export_files import ExportFiles
from singletable.reports.limits import Limits, ended_after
from singletable.reports.names import quoted
from singletable.reports.relations import Relation, relations_of
from singletable.reports.statements import check_reads_views
from singletable.reports.views import (
    comments,
    dataset_view,
    empty_rows,
    names_in,
    parquet_rows,
    relation_comment,
    relation_view,
)

_READS = frozenset({duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN})
_EXPLAIN = re.compile(r"\s*EXPLAIN\b(?:\s+ANALYZE\b)?(.*)", re.IGNORECASE | re.DOTALL).fullmatch
_CLOSED = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "python_enable_replacements": "false",
    "python_scan_all_frames": "false",
}


def open_export(
    place: str | os.PathLike[str] | Store,
    *tables: Table,
    personal: bool = True,
    as_exported: bool = False,
    limits: Limits | None = None,
) -> SqlSession:
    """SQL over the export in a directory or at `s3://bucket/prefix`. Close it, or use it in a `with`.

    A directory's Parquet and Arrow files are read in place. Those of S3 are fetched, each at the first query whose text
    has its dataset's name: its GET requests and bytes are what it costs. JSON Lines and CSV are read then too, and made
    Parquet of, for some 50 us a row. Where `personal` is false, attributes that are personal are covered. `limits` are
    those of each question.

    NotFound without an export; InvalidRequest, unless `as_exported`, where a class was declared otherwise when it was
    made.
    """
    store = store_at(place)
    manifest = read_manifest(store)
    datasets = datasets_of(*tables)
    if not as_exported and (changed := manifest.changed(datasets)):
        raise InvalidRequest(
            f"{', '.join(changed)} in {store.url}: declared otherwise when this export was made",
            hint="Export again; or say as_exported=True (--as-exported) to ask it as it is.",
        )
    return SqlSession(store, manifest, datasets, personal=personal, limits=limits)


def open_live(db: BlockingDatabase, *tables: Table, rate: Rate | None = None, personal: bool = True) -> SqlSession:
    """SQL over tables as they are now: they are scanned once, into a directory that goes with the session.

    Half a read unit for each 4 KB, eventually consistent, and as much disk as the export takes. For small tables:
    export a large one, and ask that.
    """
    with ExitStack() as undo:
        folder = undo.enter_context(tempfile.TemporaryDirectory(prefix="singletable-sql-"))
        store = DirectoryStore(folder)
        Exports(db, *tables).export(store, rate=rate)
        session = SqlSession(store, read_manifest(store), datasets_of(*tables), personal=personal)
        session.at_end.push(undo.pop_all())
        return session


class SqlSession:
    """An export, open for questions."""

    def __init__(
        self,
        store: Store,
        manifest: Manifest,
        datasets: Sequence[Dataset],
        *,
        personal: bool,
        limits: Limits | None = None,
    ) -> None:
        self.manifest, self.at_end, self.limits = manifest, ExitStack(), limits or Limits()
        self._store = store
        self._schemas = {each.name: each.schema for each in datasets}
        self._files = {each.name: each for each in manifest.datasets}
        for each in datasets:  # a class without an item may have no file
            self._files.setdefault(each.name, dataset_files(each))
        _refuse_equal_columns(self._files.values())
        self.relations: tuple[Relation, ...] = relations_of(datasets)
        self._covered = {} if personal else personal_columns(datasets, manifest.datasets)
        self._rows: dict[str, str] = {}
        self._opened: set[str] = set()
        self._on_disk = ExportFiles(store, manifest)
        self.at_end.callback(self._on_disk.close)
        try:
            self._db = self._connected()
        except BaseException:
            self.at_end.close()
            raise

    def __enter__(self) -> SqlSession:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<SqlSession of {self._store.url}: {len(self._files)} datasets, {len(self.relations)} relations>"

    def close(self) -> None:
        """Let go of what was fetched."""
        self._db.close()
        self.at_end.close()

    @property
    def place(self) -> str:
        """Where the export is."""
        return self._store.url

    @property
    def fetched(self) -> int:
        """Files that were fetched from S3, or read from JSON Lines or CSV: others are read where they are."""
        return self._on_disk.fetched

    @property
    def datasets(self) -> tuple[DatasetFiles, ...]:
        """What the export holds, and the classes that it has no item of."""
        return tuple(self._files.values())

    @property
    def views(self) -> Mapping[str, str]:
        """What can be asked, with a line of description: the datasets with rows or a class, then the relations."""
        said = {each.name: each.description.partition("\n")[0] for each in self._files.values()}
        return said | {each.name: f"{each.left} with its {each.right}" for each in self.relations}

    def columns(self, view: str) -> Mapping[str, str]:
        """The columns of a view, with their types. InvalidRequest for a view that is none."""
        return {name: kind for name, kind, *_ in self.query(f"DESCRIBE {quoted(view)}").rows()}

    def query(self, sql: str) -> Answer:
        """The answer to one SELECT. InvalidRequest for what writes, for two statements, for what DuckDB refuses, and
        for what goes beyond the session's limits."""
        self._check(sql)
        self._open(sql)
        most = self.limits.rows
        try:
            with ended_after(self._db, self.limits.seconds):
                found: Any = self._db.sql(sql)
                table: pa.Table = (found if most is None else found.limit(most + 1)).to_arrow_table()
        except duckdb.Error as error:
            raise self._refused(error) from None
        is_cut = most is not None and table.num_rows > most
        return Answer(table.slice(0, most) if is_cut else table, is_cut)

    # --- what a query may do ------------------------------------------------------------------------------------------
    def _check(self, sql: str) -> None:
        try:
            sql.encode()
        except UnicodeEncodeError:
            raise InvalidRequest("the question holds a lone surrogate, which has no form in UTF-8") from None
        try:
            statements = self._db.extract_statements(sql)
        except duckdb.Error as error:
            raise self._refused(error) from None
        if len(statements) != 1:
            raise InvalidRequest(f"a question is one statement, not {len(statements)}", hint="Ask one after the other.")
        (statement,) = statements
        if statement.type not in _READS:
            raise InvalidRequest(
                f"{statement.type.name.replace('_', ' ')} is refused: SQL only reads here",
                hint="Ask by SELECT. What changes the table are the verbs of the library.",
            )
        if statement.type == duckdb.StatementType.EXPLAIN:
            self._check(_explained(sql))
        elif any(self._covered.values()):
            check_reads_views(self._db, sql, frozenset(name.lower() for name in self.views))

    def _refused(self, error: duckdb.Error) -> SingletableError:
        """DuckDB's own words, and what to do about a name that SQL has taken."""
        said = str(error).strip()
        if self._on_disk.lacks(self._files.values()):
            return Unavailable(
                f"{self._store.url} lacks a file that it had when it was opened",
                hint="Open it again: a newer export has taken its place.",
            )
        if isinstance(error, duckdb.OutOfMemoryException) and self.limits.megabytes is not None:
            return InvalidRequest(
                f"the question needs more than {self.limits.megabytes} MB of memory",
                hint="Ask for less: group by fewer columns, sort fewer rows; or ask with `singletable sql`.",
            )
        if isinstance(error, duckdb.PermissionException):
            return InvalidRequest(
                "SQL reads nothing but the export: other files and extensions are closed", hint="Ask its views."
            )
        near = re.search(r'near "(\w+)"', said)
        name = near[1].lower() if near is not None and isinstance(error, duckdb.ParserException) else ""
        hint = f'{name} is a word of SQL: write "{name}", with the quotes.' if name in self._files else ""
        return InvalidRequest(f"DuckDB refused it: {said}", hint=hint)

    # --- what is open -------------------------------------------------------------------------------------------------
    def _connected(self) -> duckdb.DuckDBPyConnection:
        """A database in memory that reaches the export's files alone, and keeps to that."""
        db = duckdb.connect(":memory:", config=dict(_CLOSED))
        try:
            if self._on_disk.is_in_place:
                for name in self._files:
                    self._rows[name] = self._source(db, name)
            db.execute("SET TimeZone = 'UTC'")
            if self.limits.megabytes is not None:
                db.execute(f"SET memory_limit = '{int(self.limits.megabytes)}MB'")
            setting, paths = self._on_disk.allowed(self._files.values())
            db.execute(f"SET {setting} = ?", [paths])
            db.execute("SET enable_external_access = false")
            db.execute("SET lock_configuration = true")
            if self._on_disk.is_in_place:
                self._create(db, list(self._files))
        except BaseException:
            db.close()
            raise
        return db

    def _open(self, sql: str) -> None:
        """Open what a query names and was not opened before."""
        wanted = set(names_in(sql, list(self._files)))
        for relation in self.relations:
            if relation.name in names_in(sql, [relation.name]):
                wanted |= {relation.left, relation.right}
        new = [name for name in self._files if name in wanted - self._opened]
        for name in new:
            self._rows[name] = self._source(self._db, name)
        self._create(self._db, new)

    def _create(self, db: duckdb.DuckDBPyConnection, names: Sequence[str]) -> None:
        """The views of datasets, and of the relations that have both sides now."""
        self._opened |= set(names)
        for name in names:
            each = self._files[name]
            db.execute(dataset_view(each, self._rows[name], self._covered.get(name, frozenset())))
            for comment in comments(each):
                db.execute(comment)
        covered = {name: self._covered.get(name, frozenset[str]()) for name in self._files}
        for relation in self.relations:
            if {relation.left, relation.right} <= self._opened and {relation.left, relation.right} & set(names):
                db.execute(relation_view(relation, self._files, self._rows, covered))
                db.execute(relation_comment(relation))

    def _source(self, db: duckdb.DuckDBPyConnection, name: str) -> str:
        """What gives the rows of a dataset in SQL."""
        each = self._files[name]
        paths = [str(path) for path in self._on_disk.paths(each)]
        if not paths:
            return self._empty(db, each)
        if self._on_disk.reads_parquet:
            return parquet_rows(paths)
        hidden = f"rows of {name}"
        db.register(hidden, pads.dataset(paths, format="ipc"))
        return quoted(hidden)

    def _empty(self, db: duckdb.DuckDBPyConnection, each: DatasetFiles) -> str:
        """What gives the columns of a class, and no row."""
        schema = self._schemas.get(each.name)
        if schema is None:
            return empty_rows(each)
        db.register("columns", schema.empty_table())
        db.execute(f"CREATE SCHEMA IF NOT EXISTS nothing; CREATE TABLE nothing.{quoted(each.name)} AS FROM columns")
        db.unregister("columns")
        return f"nothing.{quoted(each.name)}"


def _refuse_equal_columns(datasets: Iterable[DatasetFiles]) -> None:
    """SQL takes `name` and `Name` for one column, and would show one's values as the other's."""
    for dataset in datasets:
        counts = Counter(column.name.lower() for column in dataset.columns)
        if twice := [name for name, count in counts.items() if count > 1]:
            raise InvalidRequest(
                f"{dataset.entity or dataset.name} has attributes that SQL does not tell apart: {', '.join(twice)}",
                hint="Names that differ in more than their case can be asked.",
            )


def _explained(sql: str) -> str:
    """What an EXPLAIN would run. InvalidRequest for one that begins with a comment, in which another statement could
    hide."""
    found = _EXPLAIN(sql)
    if found is None:
        raise InvalidRequest("an EXPLAIN has nothing before that word", hint="Take out the comment before it.")
    return found[1]
