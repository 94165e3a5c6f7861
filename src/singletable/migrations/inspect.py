"""Reads for tools: a program's declarations as a document, and the differences of a table from it."""

from singletable.migrations.model_document import EntityForm as EntityForm, document_of as document_of
from singletable.migrations.plans import compared_with_live as compared_with_live
