"""The shape of a table on the terminal: of `stats`, and of a job of that kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from singletable.cli import output
from singletable.foundation import Table, covered_place, model_of


def covered(table: Table, facts: dict[str, Any], *, personal: bool) -> dict[str, Any]:
    """A shape as JSON, without the personal parts of keys."""
    if personal:
        return facts
    for each in facts["collections"]:
        each["partition"], each["sort"] = covered_place(table, each["type"], (each["partition"], each["sort"]))
    for index in facts["indexes"]:
        for each in index["largest"]:
            each["sort"] = covered_place(table, each["type"], ("", each["sort"]))[1]
            each["partition"] = _covered_index_key(table, index["name"], each)
    for each in (*facts["large_items"], *facts["hot_keys"]):
        each["key"] = list(covered_place(table, each["type"], tuple(each["key"])))
    return facts


def _covered_index_key(table: Table, index: str, row: Mapping[str, Any]) -> str:
    """The partition key of an index, covered whole where its class has an attribute that is personal in it."""
    from singletable.foundation import COVERED, captured_of, personal_names

    model = table.model_of_type(row["type"])
    if model is None:
        return covered_place(table, row["type"], (row["partition"], ""))[0]
    own = (captured for captured in captured_of(model_of(model.kind)) if not captured.is_search)
    patterns = [captured for captured in own if captured.index == index]
    names = {name for captured in patterns for name in captured.templates[0].names}
    return COVERED if names & personal_names(model.kind) else str(row["partition"])


def tell_shape(shape: Mapping[str, Any]) -> None:
    """Print a shape."""
    of = "" if shape["sample"] is None else f" ({shape['seen']:,} of them read)"
    click.echo(
        f"{shape['table']}: {shape['items']:,} items{of}, {shape['bytes']:,} bytes, "
        f"{shape['partitions']:,} item collections, {shape['read_units']:,g} units to read"
    )
    for title, (titles, lines) in tables_in(shape):
        if lines:
            click.echo(f"\n{title}")
            output.print_table(titles, [[_number(cell) for cell in line] for line in lines])
    for text in shape["left_out"]:
        output.note(f"not told: {text}")


_Rows = tuple[Sequence[str], Sequence[Sequence[Any]]]


def tables_in(shape: Mapping[str, Any]) -> Iterator[tuple[str, _Rows]]:
    """The tables of a shape, each with its title."""
    sizes = ("Items", "Bytes", "Units to read")
    yield (
        "Classes",
        (
            ("Class", "Type", *sizes, "Largest"),
            [(each["name"] or "(no class)", each["type"], *_sizes(each), each["largest"]) for each in shape["classes"]],
        ),
    )
    yield (
        "Indexes",
        (
            ("Index", *sizes, "Partitions"),
            [
                (
                    each["name"],
                    *_sizes(each),
                    f"at least {each['partitions']:,}" if each["is_least"] else each["partitions"],
                )
                for each in shape["indexes"]
            ],
        ),
    )
    yield "Largest item collections", _collections(shape["collections"])
    for index in shape["indexes"]:
        yield f"Largest partitions of {index['name']}", _collections(index["largest"])
    items = [(*each["key"], each["type"], each["bytes"], each["read_units"]) for each in shape["large_items"]]
    yield "Largest items", (("Partition", "Sort", "Type", "Bytes", "Units of a get"), items)
    hot = [(each["key"][0], each["type"], each["changes"], f"{each['share']:.1%}") for each in shape["hot_keys"]]
    yield f"Hottest keys, of {shape['changes']:,} changes", (("Partition", "Type", "Changes", "Share"), hot)


def _collections(some: Sequence[Mapping[str, Any]]) -> _Rows:
    return ("Partition", "Items", "Bytes", "Units to read"), [(each["partition"], *_sizes(each)) for each in some]


def _sizes(each: Mapping[str, Any]) -> tuple[int, int, float]:
    return each["items"], each["bytes"], each["read_units"]


def _number(cell: Any) -> Any:
    return f"{cell:,g}" if isinstance(cell, float) else f"{cell:,}" if isinstance(cell, int) else cell
