"""Reads of sync's items in a table: for roles."""

from singletable.sync.client_groups import group_keys as group_keys
