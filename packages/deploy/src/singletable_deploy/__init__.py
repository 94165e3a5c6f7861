"""Deploy: roles from access patterns, and templates for all that an application needs of an account.

    web = Role("web", [User.by_email, creates(Order)], service="ecs-tasks")
    deployment = Deployment("shop", tables=[shop], roles=[web])

`singletable deploy MODULE --format cloudformation` writes a template. Nothing here sends a request.

Begin with `role` and `record_grants` (a declaration), then `statements` (what a policy holds) and `deployment`
(everything else).
"""

from singletable_deploy.access import Grant as Grant
from singletable_deploy.deployment import (
    ContainerService as ContainerService,
    Deployment as Deployment,
    Function as Function,
)
from singletable_deploy.job_worker import job_worker as job_worker, works_on_jobs as works_on_jobs
from singletable_deploy.layer_grants import (
    collects_garbage as collects_garbage,
    deletes_nodes as deletes_nodes,
    edits as edits,
    handles as handles,
    links as links,
    loads as loads,
    opens as opens,
    receives as receives,
    runs as runs,
    schedules as schedules,
    sends as sends,
    syncs as syncs,
    walks as walks,
)
from singletable_deploy.ready_roles import (
    admin as admin,
    administers as administers,
    exporter as exporter,
    exports_from as exports_from,
    migrates as migrates,
    migration as migration,
    read_only as read_only,
    reads_all as reads_all,
    worker as worker,
)
from singletable_deploy.record_grants import (
    checks as checks,
    creates as creates,
    deletes as deletes,
    puts as puts,
    reads as reads,
    scans as scans,
    sets_up as sets_up,
    updates as updates,
    upserts as upserts,
    writes_many as writes_many,
)
from singletable_deploy.resources import BlobBucket as BlobBucket, MessageQueue as MessageQueue
from singletable_deploy.role import Role as Role
