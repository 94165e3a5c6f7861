"""Reads for tools: a program's declarations as a document, the differences of a table from it, and whether a
plan reads its items."""

from singletable.migrations.model_document import EntityForm as EntityForm, document_of as document_of
from singletable.migrations.plan_sections import reads_items as reads_items
from singletable.migrations.preparation import compared_with_live as compared_with_live
