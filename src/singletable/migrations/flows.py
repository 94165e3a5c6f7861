"""The lease of an apply, for all that changes a table alone: an erasure takes it too."""

from singletable.migrations.apply_lease import release as release, take as take
from singletable.migrations.leased_port import LeasedPort as LeasedPort
