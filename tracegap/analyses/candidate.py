"""A finding before it has its payoff: what it costs, what would avoid it, and how to say both."""

from dataclasses import dataclass

from tracegap.analyses.payoff import Change
from tracegap.report import Finding
from tracegap.units import duration, ratio


@dataclass(frozen=True, slots=True)
class Candidate:
    """A finding without its payoff.

    ``lead`` says the cost, ``without`` what the replay changed, ``action`` what to do; ``change`` is what the replay changes, and
    ``saving`` the payoff where that needs no replay. ``caveat`` follows the payoff. ``row`` is the slice to look at first, where it
    is not the longest on the path that the finding owns.
    """

    code: str
    title: str
    cost: int
    lead: str
    without: str
    action: str
    evidence: str
    change: Change | None = None
    saving: int | None = None
    caveat: str = ""
    row: int = -1

    def finding(self, wall: int, saved: int | None, event: int | None) -> Finding:
        """Say it, with what a replay says that it saves of `wall` ns, and the event to look at."""
        saving = saved if self.saving is None else self.saving
        payoff = ""
        if saving is not None:
            payoff = (
                f"; {self.without} the window takes {duration(wall - saving)} (−{ratio(saving / wall)}){self.caveat}"
            )
        return Finding(
            code=self.code,
            title=self.title,
            text=f"{self.lead}{payoff}: {self.action}.",
            cost_ns=self.cost,
            evidence=self.evidence,
            saving_ns=saving,
            event=event,
        )


def share_of(cost: int, wall: int) -> str:
    """Say a cost, and its share of the window."""
    return f"{duration(cost)} ({ratio(cost / wall)} of the window)"
