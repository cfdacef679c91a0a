"""What a report says in one sentence."""

from ingress.ctl.migrate.migration import Count
from ingress.wording import number_of


def verdict(count: Count) -> str:
    """Return the sentence that says most: how many work, differ, and need a change."""
    if not count.whole:
        return "There is no Ingress here that this controller would serve."
    if count.works == count.whole > 1:
        return f"All {count.whole:,} Ingresses work as they are."
    if count.whole == 1:
        return f"The only Ingress {_of_one(count)}."
    parts = [
        f"{count.works:,} {'works as it is' if count.works == 1 else 'work as they are'}",
        f"{count.differs:,} {'differs' if count.differs == 1 else 'differ'} in something",
        f"{count.needs_change:,} {'needs' if count.needs_change == 1 else 'need'} a change before the switch",
    ]
    closed = f"; {count.closed:,} would answer 503" if count.closed else ""
    return f"Of {number_of(count.whole, 'Ingress')}, {parts[0]}, {parts[1]}, {parts[2]}{closed}."


def _of_one(count: Count) -> str:
    if count.closed:
        return "needs a change before the switch: it would answer 503"
    if count.needs_change:
        return "needs a change before the switch"
    return "differs in something" if count.differs else "works as it is"
