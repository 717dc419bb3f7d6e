"""What became of a plan, by its last list that had anything in it."""

from __future__ import annotations

from collections import Counter

from chat.plan.evidence import Evidence, evidence_of
from chat.plan.history import Plan
from chat.plan.tally import Tally


def outcome_of(plan: Plan) -> Tally:
    """The tally of a plan that nobody works on, and that has had an item.

    A list that was emptied counts by what it was before: it is finished if all of that was, else given up.
    """
    last = [revision for revision in plan.revisions if revision.row.items][-1]
    finished = last.row.done == last.row.total
    evidence = evidence_of(plan)
    done = [item["id"] for item in last.row.items if item["status"] == "completed"]
    known = [evidence[item] for item in done if item in evidence]
    ticked = sum(each.by_person for each in known)
    seconds = [_seconds(each) for each in known if each.spans and not each.by_person]
    counts = Counter(
        lists=1,
        finished=int(finished),
        finished_together=int(finished and ticked > 0),
        given_up=int(not finished and last is not plan.latest),
        items=last.row.total,
        completed=last.row.done,
        ticked=ticked,
        skipped=sum(line.skipped for line in plan.latest.lines),
        timed=len(seconds),
    )
    return Tally(counts, seconds=seconds)


def _seconds(evidence: Evidence) -> float:
    """What the item took; those that one list ticked together share their time equally."""
    return round(evidence.seconds / (1 + evidence.shared_with), 3)
