"""What migrations compare, to be read: what a program declares as a document, and how a table differs from it."""

from singletable.migrations.model_document import EntityForm, document_of
from singletable.migrations.plans import compared_with_live

__all__ = ["EntityForm", "compared_with_live", "document_of"]
