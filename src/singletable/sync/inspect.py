"""Reads of sync's items in a table: for the check of a table, an erasure, and roles."""

from singletable.sync.belongings import SyncBelongings
from singletable.sync.check import sync_checks
from singletable.sync.client_groups import group_keys, has_items

__all__ = ["SyncBelongings", "group_keys", "has_items", "sync_checks"]
