"""What sync keeps of a table, to be read: for the check of a table, an erasure, and roles."""

from singletable.sync.belongings import SyncBelongings
from singletable.sync.check import sync_checks
from singletable.sync.client_groups import group_keys, has_items

__all__ = ["SyncBelongings", "group_keys", "has_items", "sync_checks"]
