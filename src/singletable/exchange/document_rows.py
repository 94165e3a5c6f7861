"""The contents of documents as datasets of an export: what the rows of items name by a hash.

    page_cells_change          a row for each item that a version of a page added, changed or removed, with its content
    page_mutation_arguments    a row for each mutation, with its arguments and who made it

These are not items: an import leaves them out, and a restore takes contents from a store.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, Final

import msgspec
import pyarrow as pa
from msgspec.structs import asdict

from singletable.documents import Context
from singletable.documents.inspect import ContentHistory, Hide
from singletable.exchange.datasets import Dataset, free_name, snake
from singletable.exchange.manifest import DataFile, DatasetFiles, columns_of
from singletable.flow import Port
from singletable.foundation import entity_name

Rows = Sequence[Mapping[str, Any]]
_TEXT, _NUMBER = pa.string(), pa.int64()


def _schema(**columns: tuple[pa.DataType, str]) -> pa.Schema:
    return pa.schema([_field(name, type, text) for name, (type, text) in columns.items()])


def _field(name: str, type: pa.DataType, text: str) -> Any:
    is_json = name in ("content", "arguments")
    return pa.field(name, type, metadata={"description": text, **({"format": "json"} if is_json else {})})


_CHANGES: Final = _schema(
    document_id=(_TEXT, "The document."),
    version=(_NUMBER, "The version of the document that made the change."),
    id=(_TEXT, "The item's id in its collection."),
    change=(_TEXT, "added, changed or removed."),
    sha256=(_TEXT, "The name of the content. Null for a removed item."),
    content=(_TEXT, "The content as JSON. Null for a removed item, and for a content that can't be read."),
)
_ARGUMENTS: Final = _schema(
    document_id=(_TEXT, "The document."),
    version=(_NUMBER, "The version in which it was applied or rejected."),
    client=(_TEXT, "The client that sent it."),
    id=(_NUMBER, "The client's number of it."),
    name=(_TEXT, "The mutation's name."),
    principal=(_TEXT, "The user who answers for it."),
    error=(_TEXT, "The reason why it was rejected. Null for one that was applied."),
    arguments=(_TEXT, "Its arguments as JSON. Null if they can't be read."),
)
_OF_RECORD: Final = ("document_id", "version", "client", "id", "name")


class DocumentRows:
    """The datasets of the contents of one class of documents."""

    def __init__(self, context: Context[Any], datasets: Sequence[Dataset], taken: Collection[str]) -> None:
        self.context = context
        self.listing = next(dataset for dataset in datasets if dataset.model.kind is context.model.rows.listing)
        """The dataset that lists the documents."""
        stem = snake(entity_name(context.kind)) or "document"
        self.changes = {
            name: free_name(f"{stem}_{snake(name)}_change", context.model.table, taken)
            for name in context.model.collections
        }
        self.arguments = free_name(f"{stem}_mutation_arguments", context.model.table, taken)

    @property
    def schemas(self) -> dict[str, pa.Schema]:
        """The columns of each dataset."""
        return {**dict.fromkeys(self.changes.values(), _CHANGES), self.arguments: _ARGUMENTS}

    def files(self, kept: Mapping[str, Sequence[DataFile]]) -> Iterator[DatasetFiles]:
        """The datasets as a manifest has them."""
        table, kind = self.context.model.table.name, self.context.kind.__name__
        texts = {dataset: f"Changes of {kind}.{name}, with contents." for name, dataset in self.changes.items()}
        for name, schema in self.schemas.items():
            columns, text = columns_of(schema), texts.get(name, f"Mutations of {kind}, with arguments.")
            digest = sha256(msgspec.json.encode(columns)).hexdigest()[:16]
            files = tuple(kept.get(name, ()))
            yield DatasetFiles(name, "", "", table, text, columns, digest, files, is_system=True, is_contents=True)

    async def rows(self, port: Port, document_id: str, hide: Hide | None) -> AsyncIterator[tuple[str, Rows]]:
        """Some rows of one document at a time, with their dataset."""
        history = ContentHistory(port, self.context, document_id, hide)
        for name, dataset in self.changes.items():
            async for changes in history.items(name):
                yield dataset, [{"document_id": document_id, **asdict(change)} for change in changes]
        async for mutations in history.mutations():
            yield self.arguments, [_arguments_row(mutation) for mutation in mutations]


def _arguments_row(mutation: Any) -> dict[str, Any]:
    known = {name: getattr(mutation.record, name) for name in _OF_RECORD}
    return {**known, "principal": mutation.principal, "error": mutation.error, "arguments": mutation.arguments}


def lost_in(rows: Rows) -> int:
    """The rows whose content, or arguments, can't be read."""
    return sum(row.get("content", row.get("arguments")) is None and row.get("change") != "removed" for row in rows)
