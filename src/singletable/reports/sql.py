"""SQL over an export, by DuckDB: a view a class, a view a relation, and nothing else that a query could reach.

    with open_export("exports", shop) as session:
        session.query("SELECT state, count(*) FROM orders GROUP BY ALL").arrow

A query reads. DuckDB may reach only the export's files, may not load extensions, and can't change these settings; a
statement that is not a SELECT is refused before it runs.
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from types import TracebackType

from singletable.errors import InvalidRequest, Unavailable
from singletable.exchange import (
    UNKNOWN,
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
from singletable.exchange.inspect import dataset_files, personal_columns
from singletable.flow import Rate
from singletable.foundation import BlockingDatabase, Table
from singletable.reports.answers import Answer
from singletable.reports.closed import ClosedDatabase, Step
from singletable.reports.export_files import ExportFiles
from singletable.reports.limits import LimitedDatabase, Limits
from singletable.reports.names import quoted
from singletable.reports.relations import Relation, relations_of
from singletable.reports.views import (
    comments,
    dataset_view,
    empty_rows,
    names_in,
    parquet_rows,
    prefix_of,
    relation_comment,
    relation_view,
)
from singletable.reports.wide_numbers import Wide, cells_lacking, digits_question, wide_columns, wide_types


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
    Parquet of, for some 50 us a row. Where `personal` is false, attributes that are personal are covered. With
    `limits` each question has a process of its own, which ends at them; it takes half a second to start.

    NotFound without an export; InvalidRequest, unless `as_exported`, where a class was declared otherwise when it was
    made.
    """
    store = store_at(place)
    manifest = read_manifest(store)
    datasets = datasets_of(*tables)
    if not as_exported and (changed := manifest.changed(datasets)):
        raise InvalidRequest(
            f"{', '.join(changed)} in {store.url}: declared otherwise when this export was made",
            hint="Export again; or pass as_exported=True (--as-exported) to ask the old form.",
        )
    return SqlSession(store, manifest, datasets, personal=personal, limits=limits)


def open_live(db: BlockingDatabase, *tables: Table, rate: Rate | None = None, personal: bool = True) -> SqlSession:
    """SQL over the present state of tables: they are scanned once, into a directory that goes with the session.

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
        self.manifest, self.at_end, self.limits = manifest, ExitStack(), limits
        self._store = store
        self._schemas = {each.name: each.schema for each in datasets}
        self._files = {each.name: each for each in manifest.datasets}
        for each in datasets:  # a class without an item may have no file
            self._files.setdefault(each.name, dataset_files(each))
        _refuse_equal_columns(self._files.values())
        self.relations: tuple[Relation, ...] = relations_of(datasets)
        self._covered = {} if personal else personal_columns(datasets, manifest.datasets)
        self._rows: dict[str, str] = {}
        self._wide: dict[str, Wide] = {}
        self._opened: set[str] = set()
        self._on_disk = ExportFiles(store, manifest)
        self.at_end.callback(self._on_disk.close)
        views, is_covered = frozenset(self.views), any(self._covered.values())
        self._db = (
            ClosedDatabase(views, is_covered=is_covered)
            if limits is None
            else LimitedDatabase(views, limits, is_covered=is_covered)
        )
        self.at_end.callback(self._db.close)
        try:
            self._db.take(list(self._settings()))
            if self._on_disk.is_in_place:
                self._create(list(self._files))
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
        self.at_end.close()

    @property
    def place(self) -> str:
        """The address of the export."""
        return self._store.url

    @property
    def fetched(self) -> int:
        """Files that were fetched from S3, or read from JSON Lines or CSV: others are read where they are."""
        return self._on_disk.fetched

    @property
    def datasets(self) -> tuple[DatasetFiles, ...]:
        """The datasets of the export, and the classes without items in it."""
        return tuple(self._files.values())

    @property
    def views(self) -> Mapping[str, str]:
        """The views, each with a line of description: the datasets with rows or a class, then the relations."""
        said = {each.name: each.description.partition("\n")[0] for each in self._files.values()}
        return said | {each.name: f"{each.left} with its {each.right}" for each in self.relations}

    def columns(self, view: str) -> Mapping[str, str]:
        """The columns of a view, with their types. InvalidRequest for a view that is none."""
        return {name: kind for name, kind, *_ in self.query(f"DESCRIBE {quoted(view)}").rows()}

    def query(self, sql: str) -> Answer:
        """The answer to one SELECT. InvalidRequest for what writes, for two statements, for what DuckDB refuses, and
        for what goes beyond the session's limits."""
        most = self.limits.rows if self.limits is not None else None
        try:
            self._open(sql)
            table, reads = self._db.answer(sql, most)
        except InvalidRequest:
            if self._on_disk.lacks(self._files.values()):
                raise Unavailable(
                    f"{self._store.url} lacks a file that it had when it was opened",
                    hint="Open it again: a newer export has taken its place.",
                ) from None
            raise
        is_cut = most is not None and table.num_rows > most
        left_out = {
            f"{view}.{column}" if column else view: count
            for view, columns in self._lacking().items()
            for column, count in columns.items()
            if reads.reads(view, column)
        }
        uncounted = tuple(view for view in self._uncounted() if reads.reads(view, ""))
        return Answer(table.slice(0, most) if is_cut else table, is_cut, left_out, uncounted)

    # --- what is open -------------------------------------------------------------------------------------------------
    def _settings(self) -> Iterator[Step]:
        """The settings that close the database to all but the files of the export."""
        yield "run", "SET TimeZone = 'UTC'", None
        if self.limits is not None and self.limits.megabytes is not None:
            yield "run", f"SET memory_limit = '{self.limits.megabytes}MB'", None
            yield "run", "SET temp_directory = ''", None
        setting, paths = self._on_disk.allowed(self._files.values())
        yield "run", f"SET {setting} = ?", [paths]
        yield "run", "SET enable_external_access = false", None
        yield "run", "SET lock_configuration = true", None

    def _open(self, sql: str) -> None:
        """Open what a query names and was not opened before."""
        wanted = set(names_in(sql, list(self._files)))
        for relation in self.relations:
            if relation.name in names_in(sql, [relation.name]):
                wanted |= {relation.left, relation.right}
        self._create([name for name in self._files if name in wanted - self._opened])

    def _create(self, names: Sequence[str]) -> None:
        """The views of datasets, and of the relations that have both sides now."""
        for name in names:
            self._db.take(list(self._source(name)))
            self._wide[name] = self._widened(self._files[name])
        self._opened |= set(names)
        self._db.take([("run", made, None) for made in self._views(names)])

    def _views(self, names: Sequence[str]) -> Iterator[str]:
        for name in names:
            each = self._files[name]
            yield dataset_view(each, self._rows[name], self._covered.get(name, frozenset()), self._wide[name])
            yield from comments(each)
        covered = {name: self._covered.get(name, frozenset[str]()) for name in self._files}
        for relation in self.relations:
            if {relation.left, relation.right} <= self._opened and {relation.left, relation.right} & set(names):
                yield relation_view(relation, self._files, self._rows, covered, self._wide)
                yield relation_comment(relation)

    def _widened(self, dataset: DatasetFiles) -> Wide:
        """The types of the columns that have numbers beyond those of the files. One question to them, if there are
        any; where it goes beyond the limits, the columns stay."""
        if not wide_columns(dataset):
            return {}
        try:
            ((*digits,),) = Answer(self._db.ask(digits_question(dataset, self._rows[dataset.name]))).rows()
        except InvalidRequest:
            return {}
        return wide_types(dataset, list(zip(digits[::2], digits[1::2], strict=True)))

    def _lacking(self) -> Mapping[str, Mapping[str, int]]:
        """The cells that each open view leaves out, by column; the items that it leaves out, without one."""
        unread = (self._files[UNKNOWN].left_out or {}) if UNKNOWN in self._files else {}
        counts = {name: cells_lacking(self._files[name], self._wide[name]) for name in self._opened}
        counts |= {name: {**counts[name], "": items.cells} for name, items in unread.items() if name in counts}
        for relation in self.relations:
            if {relation.left, relation.right} <= self._opened:
                prefix = prefix_of(relation, self._files)
                right = {prefix + column if column else "": n for column, n in counts[relation.right].items()}
                counts[relation.name] = dict(Counter(counts[relation.left]) + Counter(right))
        return counts

    def _uncounted(self) -> Iterator[str]:
        """The views over files of an older version, which did not count."""
        old = {name for name, dataset in self._files.items() if dataset.left_out is None}
        yield from sorted(old)
        yield from (relation.name for relation in self.relations if {relation.left, relation.right} & old)

    def _source(self, name: str) -> Iterator[Step]:
        """The SQL that returns the rows of a dataset, and the step that it takes."""
        each = self._files[name]
        paths = [str(path) for path in self._on_disk.paths(each)]
        schema = self._schemas.get(name)
        if not paths and schema is not None:
            self._rows[name] = f"nothing.{quoted(name)}"
            yield "empty", name, schema.serialize().to_pybytes().hex()
        elif not paths:
            self._rows[name] = empty_rows(each)
        elif self._on_disk.reads_parquet:
            self._rows[name] = parquet_rows(paths)
        else:
            hidden = f"rows of {name}"
            self._rows[name] = quoted(hidden)
            yield "arrow", hidden, paths


def _refuse_equal_columns(datasets: Iterable[DatasetFiles]) -> None:
    """SQL takes `name` and `Name` for one column, and would show one's values as the other's."""
    for dataset in datasets:
        counts = Counter(column.name.lower() for column in dataset.columns)
        if twice := [name for name, count in counts.items() if count > 1]:
            raise InvalidRequest(
                f"{dataset.entity or dataset.name} has attributes with the same name in SQL: {', '.join(twice)}",
                hint="Names that differ in more than their case can be asked.",
            )
