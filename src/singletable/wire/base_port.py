"""The common part of the ports of both transports: clocks, delivery of requests, ports to other services."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self

from msgspec.structs import replace

from singletable.errors import SingletableError
from singletable.flow import Service, Traits
from singletable.wire.credentials import CredentialSource
from singletable.wire.delivery import Delivery, fresh_token
from singletable.wire.endpoints import Endpoint, beside
from singletable.wire.port_options import PortOptions


class BasePort(ABC):
    """A port without its connections."""

    def __init__(self, endpoint: Endpoint, credentials: CredentialSource, options: PortOptions) -> None:
        self.monotonic = options.monotonic
        self.random = options.random
        self.token = fresh_token
        self._credentials = credentials
        self._delivery = Delivery(endpoint, credentials, options)
        self.clock = self._delivery.clock
        self.now = self.clock.now
        self.names = options.names
        self.events = options.events
        self.events.monotonic = options.monotonic
        self._locate = options.locate or beside(endpoint)
        self._options = options
        self._others: dict[tuple[Service, str], Self] = {}
        self.traits = replace(options.traits, read_seconds=options.timeouts.read)

    @property
    def traits(self) -> Traits:
        """The differences of this engine. `db.require` replaces them, also on the ports to other services."""
        return self._traits

    @traits.setter
    def traits(self, traits: Traits) -> None:
        self._traits = traits
        self._delivery.lacks = traits.lacks
        for other in self._others.values():
            other.traits = traits

    def to(self, service: Service, url: str = "") -> Self:
        """The port to another service, with the same credentials and options. It closes with this one."""
        client = self._others.get((service, url))
        if client is None:
            options = replace(self._options, service=service, locate=None, traits=self.traits)
            client = self._others.setdefault((service, url), self._open(self._locate(service, url), options))
        return client

    def tell(self, error: SingletableError) -> None:
        """Add to an error what it lacks of its place."""
        self._delivery.tell(error)

    @abstractmethod
    def _open(self, endpoint: Endpoint, options: PortOptions) -> Self:
        """Another port of this kind."""
