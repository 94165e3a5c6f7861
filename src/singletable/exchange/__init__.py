"""Exchange: what goes out of a table and comes in, as typed datasets.

    Exports(db, shop).export("exports")             # a folder of Parquet files, one dataset an entity class

Read `datasets` (an entity class as columns, items as rows and back), `manifest` (what a folder holds), `stores` (a
directory, or S3), `export` (the run: a parallel scan, in sections that a killed run goes on from).
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from singletable.errors import NotConfigured

if find_spec("pyarrow") is None:
    raise NotConfigured(
        "exports and imports need pyarrow", hint="Install it: python -m pip install 'singletable[reports]'."
    )

from singletable.exchange.datasets import UNKNOWN, Dataset, datasets_of
from singletable.exchange.export import Exported
from singletable.exchange.exports import Exports
from singletable.exchange.formats import Format
from singletable.exchange.manifest import DataFile, DatasetFiles, Manifest, read_manifest
from singletable.exchange.stores import DirectoryStore, ObjectStore, Store, store_at

if TYPE_CHECKING:
    from singletable.exchange.exports_async import AsyncExports

__all__ = [
    "UNKNOWN",
    "AsyncExports",
    "DataFile",
    "Dataset",
    "DatasetFiles",
    "DirectoryStore",
    "Exported",
    "Exports",
    "Format",
    "Manifest",
    "ObjectStore",
    "Store",
    "datasets_of",
    "read_manifest",
    "store_at",
]


def __getattr__(name: str) -> Any:
    """The awaiting shell is imported at its first use, as it brings asyncio."""
    if name == "AsyncExports":
        return import_module("singletable.exchange.exports_async").AsyncExports
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
