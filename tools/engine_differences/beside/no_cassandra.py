"""Stands for the driver of ScyllaDB's other interface: the suite takes any user where that can't be asked for one."""

from __future__ import annotations


class NoHostAvailable(Exception):
    pass


class Cluster:
    def __init__(self, *args: object, **kwargs: object) -> None:
        raise NoHostAvailable


class PlainTextAuthProvider:
    def __init__(self, **kwargs: object) -> None:
        self.given = kwargs
