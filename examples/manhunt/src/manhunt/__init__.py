"""Manhunt: somebody is needed, and their contact methods are tried in order until they answer. See README.md.

Begin with `model`, which declares the records; `service` holds every query and action, `escalation` what happens
between them; `api` and `cli` are the front doors, `worker` the process that does the work.
"""

from manhunt.model import manhunt
from manhunt.service import Service

__all__ = ["Service", "manhunt"]
