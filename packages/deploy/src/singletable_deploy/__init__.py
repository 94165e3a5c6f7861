"""Deploy: roles from access patterns, and templates for all that an application needs of an account.

    web = Role("web", [User.by_email, creates(Order)], service="ecs-tasks")
    deployment = Deployment("shop", tables=[shop], roles=[web])

`singletable deploy MODULE --format cloudformation` writes a template. Nothing here sends a request.

Begin with `role` and `verbs` (a declaration), then `policy` (its statements) and `deployment` (everything else).
"""

from singletable_deploy.access import Grant
from singletable_deploy.deployment import Deployment, Function
from singletable_deploy.layer_verbs import (
    collects_garbage,
    deletes_nodes,
    edits,
    handles,
    links,
    loads,
    opens,
    receives,
    runs,
    schedules,
    sends,
    syncs,
    walks,
)
from singletable_deploy.ready_roles import (
    admin,
    administers,
    exporter,
    exports_from,
    migrates,
    migration,
    read_only,
    reads_all,
    worker,
)
from singletable_deploy.resources import BlobBucket, MessageQueue
from singletable_deploy.role import Role
from singletable_deploy.verbs import (
    checks,
    creates,
    deletes,
    puts,
    reads,
    scans,
    sets_up,
    updates,
    upserts,
    writes_many,
)

__all__ = [
    "BlobBucket",
    "Deployment",
    "Function",
    "Grant",
    "MessageQueue",
    "Role",
    "admin",
    "administers",
    "checks",
    "collects_garbage",
    "creates",
    "deletes",
    "deletes_nodes",
    "edits",
    "exporter",
    "exports_from",
    "handles",
    "links",
    "loads",
    "migrates",
    "migration",
    "opens",
    "puts",
    "read_only",
    "reads",
    "reads_all",
    "receives",
    "runs",
    "scans",
    "schedules",
    "sends",
    "sets_up",
    "syncs",
    "updates",
    "upserts",
    "walks",
    "worker",
    "writes_many",
]
