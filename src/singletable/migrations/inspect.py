"""Reads for tools: a program's declarations as a document, the differences of a table from it, and what a plan will
read of its items."""

from singletable.migrations.model_document import EntityForm as EntityForm, document_of as document_of
from singletable.migrations.plans import predict_reading as predict_reading
from singletable.migrations.preparation import compared_with_live as compared_with_live
