"""The format version of a document's rows is that of their class."""

from __future__ import annotations

import pytest

from singletable.documents import Document
from singletable.documents.inspect import document_model
from singletable.documents.rows import ClientRecord
from singletable.foundation import Table, model_of


def test_a_row_has_the_version_of_its_class(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ClientRecord, "format_version", 2)

    class Sheet(Document, table=Table("versions")):
        name: str = ""

    rows = document_model(Sheet).rows
    assert (model_of(rows.client).version, model_of(rows.inbox).version) == (2, 1)
