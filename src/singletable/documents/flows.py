"""The flows of documents by their verbs. The two shells run them, and sync uses them."""

from singletable.documents.arguments import flawed as flawed, refs_in as refs_in
from singletable.documents.changes import diff as diff, item_history as item_history
from singletable.documents.check import check as check
from singletable.documents.collectors import check_collector as check_collector, take_over_blobs as take_over_blobs
from singletable.documents.commit import apply as apply, next_version as next_version, process as process
from singletable.documents.creation import branch as branch, create as create
from singletable.documents.deletion import delete as delete
from singletable.documents.families import relatives as relatives
from singletable.documents.garbage import collect_garbage as collect_garbage
from singletable.documents.merge import merge as merge
from singletable.documents.read import (
    at as at,
    client_rows as client_rows,
    hashes_of as hashes_of,
    hashes_of_all as hashes_of_all,
    head as head,
    history as history,
    items_of as items_of,
    last_ids as last_ids,
    load as load,
    mutations_of as mutations_of,
    newest as newest,
    newest_of as newest_of,
    newest_operation as newest_operation,
    outcomes as outcomes,
    page_of_documents as page_of_documents,
    parent_of as parent_of,
)
from singletable.documents.replay import replay as replay, restore as restore
from singletable.documents.submission import (
    store as store,
    submit as submit,
    submit_in_order as submit_in_order,
    submit_next as submit_next,
)
from singletable.documents.table_garbage import TableGarbage as TableGarbage
from singletable.documents.tags import tag as tag, tags as tags, untag as untag
