"""Looking at pre-approved calls after they ran: which are drawn, and who may say what of one. Pure."""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import replace

from graph.approval import People, refuse_own_request, refuse_person
from graph.policy import Verdict
from memory.approvals import Approval, NewApproval
from memory.errors import ConflictError
from memory.moments import moment
from memory.people import Identity
from memory.reviews import Review

OVERDUE = 7 * 86400.0  # seconds; a review that is older says so wherever it is shown


def is_drawn(call_key: str, rule: str, share: float) -> bool:
    """Anybody can draw again from the record: the first 52 bits of sha256(rule, line end, call key), as a fraction, are below the share.

    A call's key holds a random id of ours, so neither a model nor who asks can choose what is looked at.
    """
    drawn = int(hashlib.sha256(f"{rule}\n{call_key}".encode()).hexdigest()[:13], 16) / 16**13
    return drawn < share


def answered_by_policy(question: NewApproval, verdict: Verdict) -> NewApproval:
    """The question as the permit of a pre-approved call, which says whether it is drawn for review."""
    share = 1.0 if verdict.review is None else verdict.review
    drawn = is_drawn(question.call_key, verdict.rule, share)
    rules = {**question.rules, "pre_approved": True, "review": share, "drawn": drawn, "deadline": None}
    return replace(question, rules=rules, required=1, deadline=None)


def allowed_to(by: Identity, people: People) -> Callable[[Review], None]:
    """Who might have decided a call may review it: by source, tier and four eyes, as the policy said when it ran."""

    def allowed(review: Review) -> None:
        if review.status != "open":
            at = moment(review.reviewed_at) if review.reviewed_at else ""
            by_whom = review.reviewer.name if review.reviewer else "unknown"
            message = f"Review {review.permit.approval_id} was {review.status} by {by_whom} at {at}; nothing has changed."
            raise ConflictError(message, code="already_reviewed", by=by_whom, status=review.status)
        refuse_person(review.permit, by, people)
        refuse_own_request(review.permit, by)

    return allowed


def undo_hint(review: Review, pending: Iterable[Approval]) -> str | None:
    """What to type to have a flagged call undone; what was said cannot be."""
    if review.permit.kind == "final_answer":
        return None
    question = next((one for one in pending if one.status == "pending" and one.kind == "pre_execution"), None)
    if question is not None:
        return f"interlock reject {question.approval_id} --then compensate"
    return f'interlock start "undo {review.permit.tool} of thread {review.permit.thread_id}"'
