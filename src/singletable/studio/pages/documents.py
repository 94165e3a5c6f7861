"""Documents: any version compared with any other, the mutations between, history, inbox and contents; and restoring."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from msgspec.structs import replace

from singletable.documents import AsyncDocuments
from singletable.documents.flows import newest as read_newest
from singletable.documents.inspect import (
    AnyContext,
    BlobsInfo,
    CollectionInfo,
    DocumentClass,
    DocumentInfo,
    DocumentRow,
    DocumentsInfo,
    HistoryInfo,
    InboxInfo,
    contexts_of,
    document_class,
    document_model,
    documents_of,
    inspect_blobs,
    inspect_collection,
    inspect_document,
    inspect_documents,
    inspect_history,
    inspect_inbox,
)
from singletable.errors import InvalidRequest, NotFound
from singletable.foundation import Model
from singletable.studio.addresses import Place, segment
from singletable.studio.page import Action, Page, PageAnswer, Section
from singletable.studio.site import Site
from singletable.studio.view import Crumb, View
from singletable.studio.visit import Visit, whole_number

T = TypeVar("T")
_LARGEST = 10**12 - 1


class DocumentsView(View, frozen=True, kw_only=True):
    """The documents of a table's classes."""

    table: str
    kinds: tuple[DocumentClass, ...]
    kind: str
    found: DocumentsInfo


class DocumentView(View, frozen=True, kw_only=True):
    """The common part of the pages of one document."""

    table: str
    kind: str
    id: str
    tab: str
    newest: int = 0


class VersionView(DocumentView, frozen=True, kw_only=True):
    """A version, compared with another."""

    seen: DocumentInfo
    item: str = ""
    """The address of the version's own item."""
    may_restore: bool = False
    refused: str = ""
    """Why a restore was not done."""


class TabView(DocumentView, Generic[T], frozen=True, kw_only=True):
    """The content of one of its tabs: history, inbox, contents."""

    seen: T


class CollectionPage(DocumentView, frozen=True, kw_only=True):
    version: int
    seen: CollectionInfo


async def load_documents(visit: Visit) -> DocumentsView:
    """Some documents of a class, or those of one parent: a request, more on an engine of small pages."""
    visit.must_read_all()
    contexts = contexts_of([visit.table], visit.links.seal, visit.site.blobs)
    if not contexts:
        raise NotFound("this table holds no documents", table=visit.table.name)
    context = context_named(contexts, visit.query.get("kind") or next(iter(contexts)))
    under, after = visit.query.get("parent", "").strip(), visit.query.get("after") or None
    flow = inspect_documents(visit.db.port, context, under=under, after=after, unreadable=visit.unread.append)
    listed = await visit.db.run(flow)
    return DocumentsView(
        title="Documents",
        table=visit.table.name,
        kinds=tuple(map(document_class, contexts.values())),
        kind=listed.kind.name,
        found=listed,
    )


async def load_document(visit: Visit) -> VersionView:
    """A version compared with another: four requests; see `inspect_document`."""
    return await _version(visit, _context(visit), "version")


async def load_restore(visit: Visit) -> VersionView:
    """The changes of a restore: the version compared with the newest."""
    context = _context(visit)
    await visit.must_write(context.model.rows.version)
    return await _restoring(visit, context, _number(visit, "version"))


async def load_history(visit: Visit) -> TabView[HistoryInfo]:
    """Versions, tags and branches: five requests, six with a cursor."""
    query = visit.query
    flow = inspect_history(
        visit.db.port,
        _context(visit),
        _id(visit),
        after=query.get("after") or None,
        tags_after=query.get("tags") or None,
        branches_after=query.get("branches") or None,
        unreadable=visit.unread.append,
    )
    seen = await visit.db.run(flow)
    return TabView(**_common(visit, "history", seen.newest), seen=seen)


async def load_inbox(visit: Visit) -> TabView[InboxInfo]:
    """The waiting mutations, and the clients: four requests."""
    flow = inspect_inbox(
        visit.db.port,
        _context(visit),
        _id(visit),
        after=visit.query.get("after") or None,
        clients_after=visit.query.get("clients") or None,
        personal=not visit.covered,
        unreadable=visit.unread.append,
    )
    seen = await visit.db.run(flow)
    return TabView(**_common(visit, "inbox", seen.newest), seen=seen)


async def load_blobs(visit: Visit) -> TabView[BlobsInfo]:
    """The contents of a collection in the store: four requests, and 25 questions to the store."""
    part, _, after = visit.query.get("after", "0:").partition(":")
    flow = inspect_blobs(
        visit.db.port,
        _context(visit),
        _id(visit),
        collection=visit.query.get("collection", ""),
        part=whole_number("after", part, _LARGEST),
        after=after,
        condemned_after=visit.query.get("condemned") or None,
        unreadable=visit.unread.append,
    )
    seen = await visit.db.run(flow)
    return TabView(**_common(visit, "contents", seen.newest), seen=seen)


async def load_collection(visit: Visit) -> CollectionPage:
    """The ids of a collection in a version: two requests, three at the end of a part."""
    version = _number(visit, "version")
    name, after = visit.query.get("collection", ""), visit.query.get("after") or None
    flow = inspect_collection(visit.db.port, _context(visit), _id(visit), version, name, after=after)
    seen = await visit.db.run(flow)
    return CollectionPage(**_common(visit, "version", version), version=version, seen=seen)


async def restore(visit: Visit) -> str | PageAnswer:
    """Restore a document to a version, over the one that was seen; what came in between is shown instead."""
    context, id = _context(visit), _id(visit)
    await visit.must_write(context.model.rows.version)
    version, over = _number(visit, "version"), _number(visit, "over")
    documents: AsyncDocuments[Any] = AsyncDocuments(visit.db, context.kind, blobs=context.store)
    outcome = await documents.restore(id, version=version, over=over, by=f"studio-{visit.user}")
    place = context.model.rows.version.by_number(id, over)
    visit.log_write(
        "restored" if outcome.status == "applied" else "tried to restore",
        visit.table,
        context.model.words.document + "Version",
        (place.partition, place.low),
    )
    if outcome.status == "applied":
        return visit.links.of(_path(visit), {"id": id, "version": str(outcome.version), "since": str(over)})
    view = await _restoring(visit, context, version)
    why = outcome.error or "it waits in the inbox, behind mutations that can't be applied yet"
    return PageAnswer("restore.html", replace(view, refused=why), 409, style=_STYLE)


# --- what they share --------------------------------------------------------------------------------------------------
async def _version(visit: Visit, context: AnyContext, tab: str) -> VersionView:
    collection, slash, item = visit.query.get("item", "").partition("/")
    flow = inspect_document(
        visit.db.port,
        context,
        _id(visit),
        version=_optional(visit, "version"),
        since=_optional(visit, "since"),
        whole=visit.query.get("whole") == "1",
        item=(collection, item) if slash else None,
        personal=not visit.covered,
    )
    seen = await visit.db.run(flow)
    may = seen.kind.has_contents and await visit.may_write(context.model.rows.version)
    place = context.model.rows.version.by_number(_id(visit), seen.version.number)
    item = visit.links.item(visit.table.name, (place.partition, place.low))
    return VersionView(**_common(visit, tab, seen.newest), seen=seen, item=item, may_restore=may)


async def _restoring(visit: Visit, context: AnyContext, version: int) -> VersionView:
    """A version compared with the newest one, which it is to replace."""
    newest = (await visit.db.run(read_newest(visit.db.port, context, _id(visit)))).number
    personal = not visit.covered
    flow = inspect_document(visit.db.port, context, _id(visit), version=version, since=newest, personal=personal)
    seen = await visit.db.run(flow)
    view = VersionView(**_common(visit, "version", seen.newest), seen=seen, may_restore=True)
    return replace(view, title=f"Restore version {version} of {_id(visit)}?")


def _context(visit: Visit) -> AnyContext:
    visit.must_read_all()
    return context_named(contexts_of([visit.table], visit.links.seal, visit.site.blobs), visit.path["kind"])


def context_named(contexts: Mapping[str, AnyContext], name: str) -> AnyContext:
    """The class of a name, as addresses have it. NotFound for a class that is not declared here."""
    chosen = next((context for known, context in contexts.items() if segment(known) == segment(name)), None)
    if chosen is None:
        named = ", ".join(contexts) or "none"
        raise NotFound("no class of documents has this name", hint=f"These are declared: {named}.")
    return chosen


def _common(visit: Visit, tab: str, newest: int) -> dict[str, Any]:
    kind, id = visit.path["kind"], _id(visit)
    return {"title": f"{kind} {id}", "table": visit.table.name, "kind": kind, "id": id, "tab": tab, "newest": newest}


def _path(visit: Visit) -> str:
    return f"/documents/{visit.table.name}/{visit.path['kind']}"


def _id(visit: Visit) -> str:
    text = visit.form.get("id") or visit.query.get("id", "")
    if not text:
        raise InvalidRequest("the address names no document", hint="As in ?id=p1.")
    return text


def _optional(visit: Visit, name: str) -> int | None:
    text = visit.form.get(name) or visit.query.get(name, "")
    return whole_number(name, text, _LARGEST) if text else None


def _number(visit: Visit, name: str) -> int:
    number = _optional(visit, name)
    if number is None:
        raise InvalidRequest(f"the address has no {name}=", hint=f"As in ?{name}=7.")
    return number


def _has_documents(site: Site) -> bool:
    return any(documents_of(table) for table in site.tables)


_ONE = "/documents/{table}/{kind}"
_STYLE = "layers.css"


def _item_link(visit: Visit, model: Model[Any], place: Place) -> Crumb | None:
    table, kind = model.table, model.kind
    if not issubclass(kind, DocumentRow):
        return None
    owner = next(each for each in documents_of(table) if document_model(each).rows is kind.__rows__)
    document_id = model.key_values(model.key_at(place))["document_id"]
    return Crumb("As a document", visit.links.document(table.name, owner.__name__, document_id))


SECTION = Section(
    item_link=_item_link,
    pages=(
        Page("/documents/{table}", "documents.html", load_documents, "Documents", 50, _has_documents, _STYLE),
        Page(_ONE, "document.html", load_document, style=_STYLE, script="versions.js"),
        Page(f"{_ONE}/history", "document_history.html", load_history, style=_STYLE),
        Page(f"{_ONE}/inbox", "document_inbox.html", load_inbox, style=_STYLE),
        Page(f"{_ONE}/contents", "document_contents.html", load_blobs, style=_STYLE),
        Page(f"{_ONE}/collection", "document_collection.html", load_collection, style=_STYLE),
        Page(f"{_ONE}/restore", "restore.html", load_restore, style=_STYLE),
    ),
    actions=(Action(f"{_ONE}/restore", restore),),
)
