"""What `--json` prints: the shape of every document, and which command prints which. docs/reference.md is made from this file.

A time is text in UTC, `2026-01-31T09:30:00.000000Z`. Keys are added in later versions; none changes its meaning or goes.
"""

from types import UnionType
from typing import Any, NotRequired, TypedDict

from memory.approvals import Kind
from memory.ledger import ExecutionStatus
from memory.outbox import Event
from memory.people import Source
from memory.reviews import ReviewStatus
from memory.runs import Status


class Problem(TypedDict):
    code: str  # see the list of codes
    message: str
    remedy: NotRequired[str]  # what to type or to change next


class Question(TypedDict):
    approval_id: str  # what `approve` and its siblings take, or the first six characters or more of it
    thread_id: str
    kind: Kind
    tool: str
    args: dict[str, Any]  # as they would run; what is secret is masked
    args_sha256: str  # the digest of tool, schema and arguments: `approve --digest`
    proposed_args: dict[str, Any]  # as the model proposed them
    modified_by: str | None
    tier: int
    required: int  # how many approvals of different people it takes
    have: int
    version: int  # grows with each modification; votes count for one version
    requester: str  # for whom the thread was started
    requester_source: Source
    starter: str  # whose account started it
    starter_source: Source
    rule: str | None  # the rule of the policy that has people asked
    note: str  # what else to know, such as why it is asked again
    begun: "Begun | None"  # only of kind unknown_outcome
    said: str  # what the model said beside the call
    memory: dict[str, Any] | None  # whether the model was reminded of earlier threads, and of which
    requested_at: str
    expires_at: str | None
    on_expiry: str | None  # reject or escalate


class Begun(TypedDict):
    at: str
    attempt: int
    idempotency_key: str  # what to look for at the other side


class Execution(TypedDict):
    call_key: str
    tool: str
    args: dict[str, Any]
    status: ExecutionStatus
    attempts: int
    approval_id: str | None  # what permitted it; null where nobody had to be asked
    undo: str | None  # what would undo it
    undoes: str | None  # the call key of what this undid
    result: str | None
    error: str | None
    started_at: str
    finished_at: str | None


class Undo(TypedDict):
    tool: str
    call_key: str
    undo: str | None
    undo_key: NotRequired[str]
    attempts: NotRequired[int]
    state: str  # undone, no_way_back, failed, refused, unknown, waiting or not_begun
    why: str


class Compensation(TypedDict):
    wished_by: str | None
    comment: str
    undone: list[Undo]
    not_undone: list[Undo]


class Undoable(TypedDict):
    tool: str
    call_key: str
    undo: str | None
    why: NotRequired[str]


class Outlook(TypedDict):
    undoes: list[Undoable]
    cannot_undo: list[Undoable]


class Thread(TypedDict):
    thread_id: str
    status: Status
    final_answer: str | None  # null as long as it is held back
    error: dict[str, Any] | None  # code and message of why it failed or was stopped
    requester: str
    input: str | None  # the task; null where the thread was adopted from its checkpoint
    forked_from: str | None
    pending: list[Question]
    then_compensate: Outlook | None  # what `reject --then compensate` would undo; null where nothing waits
    memory: dict[str, Any] | None  # what was recalled and remembered
    executions: list[Execution]
    compensation: Compensation | None  # null where nobody wished it


class Inbox(TypedDict):
    pending: list[Question]
    more: bool  # there are more than --limit


class Line(TypedDict):
    thread_id: str
    status: Status
    driven: bool  # a process works on it now
    requester: str
    input: str | None
    created_at: str
    updated_at: str


class Runs(TypedDict):
    runs: list[Line]
    more: bool


class Recovery(TypedDict):
    thread_id: str
    status: Status
    error: str | None


class Recovered(TypedDict):
    recovered: list[Recovery]
    dry_run: bool


class Audited(TypedDict):
    thread_id: str
    seq: int
    at: str
    kind: str
    actor: str
    actor_source: Source
    payload: Any
    prev_hash: str
    hash: str


class Audit(TypedDict):
    events: list[Audited]
    verified: bool | None  # null without --verify
    faults: list[str]


class Exported(TypedDict):
    export: dict[str, Any]  # file, at, events, threads
    verified: bool
    faults: list[str]


class Compared(TypedDict):
    against: dict[str, Any]  # file, at, events, threads
    verified: bool
    faults: list[str]  # each event of the export that is missing or another one


class Told(TypedDict):
    seq: int
    at: str
    kind: str
    title: str
    text: str  # the event in words
    details: dict[str, Any]
    actor: str
    actor_source: Source
    payload: Any
    hash: str


class Head(TypedDict):
    seq: int
    hash: str


class Replay(TypedDict):
    thread_id: str
    events: list[Told]
    verified: bool
    faults: list[str]
    head: Head | None  # where the chain ends
    html: NotRequired[str]


class Prunable(TypedDict):
    thread_id: str
    status: Status
    updated_at: str
    checkpoints: int
    results: int
    bytes: int


class Pruned(TypedDict):
    dry_run: bool
    threads: list[Prunable]
    bytes: int
    left: list[str]  # were due, and in use when their turn came


class Worked(TypedDict):
    stopped: bool
    driven: int  # how often it drove a thread
    given_up: list[str]  # threads whose grace ran out


class Message(TypedDict):
    id: int
    event: Event
    thread_id: str
    approval_id: str | None
    target: int  # which of the policy's urls, from 1
    attempts: int
    created_at: str
    next_at: str | None  # null when it is not tried again
    error: str | None


class Notified(TypedDict):
    sent: int
    failed: int
    left: list[Message]


class Review(TypedDict):
    review_id: str
    approval_id: str
    thread_id: str
    kind: Kind
    tool: str
    args: dict[str, Any]
    call_key: str
    rule: str | None
    policy: str | None  # the digest of the policy file that let it run
    share: float | None  # of the rule's calls that are drawn
    requester: str
    ran: str | None
    result: str | None
    status: ReviewStatus
    opened_at: str
    age_seconds: int
    overdue: bool
    reviewer: str | None
    reviewer_source: Source | None
    comment: str
    reviewed_at: str | None
    undo: NotRequired[str | None]  # what to type to have it undone; of accept and flag


class Reviews(TypedDict):
    reviews: list[Review]
    more: bool


class Counted(TypedDict):
    tool: str | None
    rule: str | None
    asked: int
    approved: int
    modified: int
    rejected: int
    expired: int
    escalated: int
    cancelled: int
    waiting: int
    pre_approved: int
    seconds_to_decision: dict[str, Any]  # median and p90
    oldest_waiting_seconds: float | None
    decisions: int
    faster_than_read: int
    shown_before: int
    not_shown_before: int
    streak: int
    longest_streak: int
    approved_share: dict[str, Any] | None  # of, count, share, and its interval from low to high; null below the minimum
    reviews: dict[str, Any]  # accepted, flagged, open, oldest_seconds, flagged_share


class Person(TypedDict):
    operator: str
    source: Source
    approved: int
    modified: int
    rejected: int
    escalated: int
    seconds_to_decision: dict[str, Any]
    decisions: int
    faster_than_read: int
    shown_before: int
    not_shown_before: int
    streak: int
    longest_streak: int
    approved_share: dict[str, Any] | None


class Advice(TypedDict):
    kind: str
    about: str
    text: str
    rule: str | None  # a rule for the policy file
    evidence: dict[str, Any]


class Stats(TypedDict):
    minimum: int  # below so many cases nothing is concluded
    overall: Counted
    tools: list[Counted]
    rules: list[Counted]
    operators: list[Person]
    advice: list[Advice]
    since: str | None
    plot: str | None


class Tool(TypedDict):
    name: str
    critical: bool
    idempotent: bool
    transactional: bool
    check: bool
    compensate: bool
    timeout: float | None
    origin: str  # where it is declared
    changed: str  # what an MCP server made of it since it was first used; empty: nothing
    description: str
    parameters: dict[str, Any]  # JSON Schema


class Tools(TypedDict):
    tools: list[Tool]


class Finding(TypedDict):
    name: str
    state: str  # ok, warn or wrong
    detail: str
    remedy: str | None


class Doctor(TypedDict):
    ok: bool
    checks: list[Finding]


class Checked(TypedDict):
    ok: bool
    digest: str
    rules: list[str]
    answer_rules: list[str]
    tiers: dict[str, Any]  # names by tier


class Explained(TypedDict):
    tool: str
    args: dict[str, Any]
    critical: bool | None
    rules: list[dict[str, Any]]  # rule, result, why: each rule up to the one that decides
    verdict: dict[str, Any]


class Tried(TypedDict):
    line: int
    tool: str
    args: dict[str, Any]
    expected: dict[str, Any]
    got: dict[str, Any]
    ok: bool
    why: str


class Tests(TypedDict):
    ok: bool
    tests: list[Tried]


class Remembered(TypedDict):
    id: str
    content: str
    timestamp: str
    source: str | None
    tenant: str | None
    metadata: dict[str, Any]
    score: NotRequired[float]  # of a search


class Memories(TypedDict):
    status: str  # ok, empty or unavailable
    records: list[Remembered]
    more: NotRequired[bool]  # of a list
    reason: NotRequired[str]
    error: NotRequired[Problem]


class Forgotten(TypedDict):
    forgotten: list[Remembered]
    would_forget: list[Remembered]


class Reembedded(TypedDict):
    records: int


class Operator(TypedDict):
    name: str
    tier: int
    in_force: bool
    added_by: str
    added_at: str
    expires_at: str | None
    revoked_at: str | None
    token: NotRequired[str]  # of `operator add`, this once


class Operators(TypedDict):
    operators: list[Operator]


class Up(TypedDict):
    running: bool
    where: str


class Down(TypedDict):
    running: bool


class Database(TypedDict):
    embedded: bool
    running: bool
    schema: str  # current, behind or unknown
    missing: list[str]  # migrations
    url: NotRequired[str | None]  # this and the rest: of the embedded server
    version: NotRequired[str | None]
    data: NotRequired[str]
    log: NotRequired[str]
    pid: NotRequired[int | None]


class Address(TypedDict):
    url: str


class Migrated(TypedDict):
    applied: list[str]


class Grants(TypedDict):
    role: str
    sql: str


class Drawn(TypedDict):
    mermaid: str
    png: NotRequired[str]


PRINTED: dict[str, type | UnionType] = {
    **dict.fromkeys(
        ("start", "resume", "show", "fork", "cancel", "approve", "modify", "reject", "escalate", "resolve"),
        Thread,
    ),
    "inbox": Inbox,
    "runs": Runs,
    "recover": Recovered,
    "worker": Worked,
    "notify": Notified,
    "prune": Pruned,
    "audit": Audit | Exported | Compared,
    "replay": Replay,
    "stats": Stats,
    "review list": Reviews,
    "review accept": Review,
    "review flag": Review,
    "memory search": Memories,
    "memory list": Memories,
    "memory add": Remembered,
    "memory forget": Forgotten,
    "memory reembed": Reembedded,
    "operator add": Operator,
    "operator list": Operators,
    "operator revoke": Operator,
    "policy check": Checked,
    "policy explain": Explained,
    "policy test": Tests,
    "tools": Tools,
    "doctor": Doctor,
    "graph": Drawn,
    "db up": Up,
    "db down": Down,
    "db status": Database,
    "db url": Address,
    "db migrate": Migrated,
    "db grants": Grants,
}
