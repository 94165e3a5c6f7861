"""Reads for tools: a program's declarations as a document, and the differences of a table from it."""

from singletable.migrations.model_document import EntityForm, document_of
from singletable.migrations.plans import compared_with_live

__all__ = ["EntityForm", "compared_with_live", "document_of"]
