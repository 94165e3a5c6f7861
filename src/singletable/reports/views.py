"""The SQL of views: one for each dataset of an export, and one for each relation between two. Text, nothing is run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from singletable.exchange import DatasetFiles
from singletable.exchange.inspect import REST
from singletable.foundation import COVERED
from singletable.reports.names import quoted, text
from singletable.reports.relations import Relation
from singletable.reports.wide_numbers import Wide, value_of

_TEXTS: Final = ("string", "dictionary<values=string")


def dataset_view(dataset: DatasetFiles, rows: str, covered: frozenset[str], wide: Wide) -> str:
    """`CREATE VIEW` of a dataset over what gives its rows, with personal columns covered. `_rest` is left out: it holds
    what the columns can't, for an import."""
    shown = _columns(dataset, "", "", covered, wide)
    return f"CREATE VIEW {quoted(dataset.name)} AS SELECT {', '.join(shown)} FROM {rows}"  # noqa: S608  (names are quoted)


def empty_rows(dataset: DatasetFiles) -> str:
    """SQL that returns the columns of a dataset without a file, and no row."""
    names = ", ".join(f"NULL::VARCHAR AS {quoted(column.name)}" for column in dataset.columns)
    return f"(SELECT {names} WHERE false)"


def comments(dataset: DatasetFiles) -> Iterator[str]:
    """The docstrings, as comments of the view and its columns."""
    name = quoted(dataset.name)
    if dataset.description:
        yield f"COMMENT ON VIEW {name} IS {text(dataset.description)}"
    for column in dataset.columns:
        if column.description and column.name != REST:
            yield f"COMMENT ON COLUMN {name}.{quoted(column.name)} IS {text(column.description)}"


def relation_view(
    relation: Relation,
    datasets: Mapping[str, DatasetFiles],
    rows: Mapping[str, str],
    covered: Mapping[str, frozenset[str]],
    wide: Mapping[str, Wide],
) -> str:
    """`CREATE VIEW` of a relation: each row of the left one, with the columns of the row that it names, if it is there,
    under names that begin with its dataset's. Rows are joined by what is stored, also where it is covered."""
    left, right = datasets[relation.left], datasets[relation.right]
    columns = list(_columns(left, "l", "", covered[left.name], wide[left.name]))
    columns += _columns(right, "r", prefix_of(relation, datasets), covered[right.name], wide[right.name])
    names, others = (
        {c.name: value_of(c, wide[d.name], of) for c in d.columns} for d, of in ((left, "l"), (right, "r"))
    )
    on = " AND ".join(
        f"{names[join.column]} = {text(join.prefix) + ' || ' if join.prefix else ''}{others[join.other]}"
        for join in relation.joins
    )
    made = f"CREATE VIEW {quoted(relation.name)} AS SELECT {', '.join(columns)}"
    return f"{made} FROM {rows[left.name]} AS l LEFT JOIN {rows[right.name]} AS r ON {on}"


def prefix_of(relation: Relation, datasets: Mapping[str, DatasetFiles]) -> str:
    """The beginning of the names that the right side's columns have in a relation's view."""
    taken = {c.name for c in datasets[relation.left].columns}
    prefix = f"{relation.right}_"
    while any(prefix + c.name in taken for c in datasets[relation.right].columns):
        prefix += "_"
    return prefix


def relation_comment(relation: Relation) -> str:
    """The description of a relation's view."""
    names = " and ".join(join.column for join in relation.joins)
    comment = (
        f"{relation.left} with the {relation.right} that its {names} {'mentions' if relation.is_mention else 'names'}"
    )
    return f"COMMENT ON VIEW {quoted(relation.name)} IS {text(comment)}"


def _columns(dataset: DatasetFiles, alias: str, prefix: str, covered: frozenset[str], wide: Wide) -> Iterator[str]:
    for column in dataset.columns:
        if column.name == REST:
            continue
        value = value_of(column, wide, alias)
        if column.name in covered:
            cover = text(COVERED) if column.type.startswith(_TEXTS) else "NULL"
            value = f"CASE WHEN {value} IS NOT NULL THEN {cover} END"
        yield f"{value} AS {quoted(prefix + column.name)}"


def parquet_rows(paths: Iterable[str]) -> str:
    """SQL that returns the rows of Parquet files."""
    return f"read_parquet([{', '.join(map(text, paths))}])"


def names_in(query: str, known: Sequence[str]) -> list[str]:
    """The names that a query may mean: they are in its text."""
    lower = query.lower()
    return [name for name in known if name.lower() in lower]
