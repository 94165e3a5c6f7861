"""Who writes and reads each of the library's own items, and when it goes: what docs/reference/stored-items.md says
beside the forms."""

from __future__ import annotations

from collections.abc import Mapping

LIVES: Mapping[str, str] = {
    "_unique": "Written by each write of an item that has the value, in its transaction. Read by a write that is "
    "refused, and by checks. It goes with the value.",
    "_word": "Written by each write of an item that has the word, in its transaction. Read by searches, and by checks. "
    "It goes with the word, or with the item.",
    "_task": "Written by a transaction that schedules a task. Read and claimed by workers. It goes when the task "
    "has ended or is cancelled; one that is dead stays until it is retried or dropped. A recurring task's is written "
    "by a worker, and stays.",
    "_turn": "Written with the task that has an order, claimed by workers. It goes with its task.",
    "_lane": "Written by the worker that claims a task of the order. It goes when none of the order runs.",
    "_consumer": "Written by the first worker of a consumer, read by each that begins. It stays.",
    "_lease": "Written and read by the workers of a consumer. It goes when all of its shard is done and the stream "
    "does not have the shard any more.",
    "_try": "Written by a worker whose handler failed, read at the next try. It goes when a try succeeds, or with "
    "the last.",
    "_aside": "Written by a worker after the last try. Read by `dead_letters`. It goes when it is retried or dropped.",
    "_sync_group": "Written by the first request with the group's id, read by each process that serves the group. It "
    "goes when its user is erased.",
    "_sync_client": "Written by the first request with the client's id, with a guard. It goes with its group.",
    "Project": "Written by `create`, read by lists of documents. It goes when the document is deleted.",
    "ProjectVersion": "Written by `process`, read by every read of the document. It goes when the document is deleted.",
    "ProjectShapes": "Written with the version that changes the collection, read with versions. It goes when the "
    "document is deleted.",
    "ProjectMutation": "Written with the version that applies or rejects it, read where it is submitted again. It goes "
    "when the document is deleted.",
    "ProjectClient": "Written with the version, read by submissions and by sync. It goes when the document is deleted.",
    "ProjectInbox": "Written by `submit`, read by processors. It goes with the version that applies or rejects it.",
    "ProjectGcEpoch": "Written by the first collection of garbage, or by the deletion of the document. Each commit is "
    "conditional on it. It stays, so that the id of a deleted document is not used again.",
    "ProjectCondemned": "Written and read by the collection of garbage. It goes with the blob, or "
    "when the blob is in use.",
    "ProjectTag": "Written by `tag`, read by `tags` and reads at a tag. It goes by `untag`, or when the document is "
    "deleted.",
    "ProjectBranch": "Written by `branch`, read by the collection of garbage. It stays while a "
    "branch may use the blobs.",
    "_apply": "Written by each apply. It stays: its fence is never lowered.",
    "_erasure": "Written by an erasure, read by the one that goes on. What is left of one that has ended stays.",
    "_hold": "Written by a copy or a restore, before its first item, and by a release. Read by every worker, every "
    "three seconds. It stays: what changed before the release is handled by nobody.",
    "_job": "Written by `Jobs.begin`, read by each worker every three seconds, written by `pause`, `resume`, `cancel` "
    "and at its end. It goes seven days after its end, with the next call of `begin` or `all`.",
    "_job_part": "Written by the worker that takes the section, after each round, and by its heartbeat. It goes with "
    "its job.",
    "_job_state": "Written with the rounds of a section that puts something together, as of `stats`: two items, in "
    "turns. They go with their job.",
    "_job_lines": "Written with a round that has something to tell. It goes with its job.",
    "_migration": "Written by a fill, read by the one that goes on. It goes at the end of the fill or of the apply.",
    "_model": "Written by an apply, read by plans, checks and applies. It stays.",
    "_plan": "Written at the end of a plan that is a job, read by plans that would read the table. It stays; the next "
    "such job replaces it.",
    "_rate": "Written every two seconds by each process that shares the rate: with an attribute `m_` and a random "
    "text, a number that it raises. It stays.",
    "_restore": "Written by a restore, read by the one that goes on. It stays: it says where the table is from.",
    "_transfer": "Written by a copy or an import, read by the one that goes on. It goes at its end.",
    "GOAL": "What the graph keeps in a node: the members of its edges, a count `n_` and the edge's type for each "
    "type of edge, `deleting` and `buried` on one that is being deleted. Written by the graph's verbs, "
    "and never by put.",
    "PART": "What the graph keeps in an edge: the number of its writes, by which its member is in `edges0` or "
    "`edges1`, and whether it has one. A member is the text of the target, with that of each mirrored "
    "attribute.",
}
