"""What the application needs of an AWS account: its table, a bucket, a queue, and the roles of its programs.

singletable deploy projects.deployment --format cloudformation > projects.json
"""

from __future__ import annotations

from projects.model import Project, Repository, projects
from singletable_deploy import (
    BlobBucket,
    Deployment,
    MessageQueue,
    Role,
    admin,
    collects_garbage,
    edits,
    receives,
    sends,
    sets_up,
    syncs,
)

blobs = BlobBucket("blobs")
pushes = MessageQueue("projects-pushes", is_fifo=True)

web = Role("web", [edits(Project, blobs=blobs), syncs(Project), sends(pushes)], service="ecs-tasks")
"""The board: its pages, its API, push and pull."""
worker = Role("worker", [edits(Project, blobs=blobs), syncs(Project), receives(pushes)], service="ecs-tasks")
"""The processors of what is pushed, where the server leaves it to them."""
operator = Role(
    "operator",
    [
        sets_up(projects),
        edits(Project, blobs=blobs),
        edits(Repository, blobs=blobs),
        collects_garbage(Project, blobs=blobs),
        collects_garbage(Repository, blobs=blobs),
    ],
)
"""The command line: boards and the histories of repositories."""

deployment = Deployment(
    "projects",
    tables=[projects],
    roles=[web, worker, operator, admin(projects)],
    queues=[pushes],
    buckets=[blobs],
)
