"""All that ``tracegap explain`` can explain: faults of a trace, findings, the analyses themselves, and causes."""

from inspect import getdoc

from tracegap import analyses
from tracegap.charges import MEANINGS
from tracegap.problems import CATALOGUE


def catalogue() -> dict[str, str]:
    """Return the text of every code, its first line a summary.

    Examples
    --------
    >>> print(catalogue()["launch-without-kernel"].splitlines()[-1])
    What to do: Device activity was lost; utilisation is a lower bound. Record fewer steps, or warm the profiler up first.
    """
    out = {
        code: f"{fault.message}\n\n{_SEVERITIES[fault.severity]}\nWhat to do: {fault.remedy}"
        for code, fault in CATALOGUE.items()
    }
    out |= analyses.FINDINGS
    for analysis in analyses.ANALYSES:
        out[analysis.NAME] = getdoc(analysis) or analysis.TITLE
    causes = {cause.word.replace("_", "-"): f"{meaning}\n\nA cause of time." for cause, meaning in MEANINGS.items()}
    return causes | out  # what a finding is about has its text


def meant(word: str) -> str:
    """Return the code that a word on the screen means: a section by its label, a cause like the finding about it.

    Examples
    --------
    >>> meant("PATH"), meant("untraced_host"), meant("sync")
    ('critical_path', 'untraced-host', 'sync')
    """
    lower = word.lower()
    return analyses.NAMES.get(lower) or lower.replace("_", "-").replace(" ", "-")


_SEVERITIES = {
    "info": "Severity: info; nothing that is reported changed.",
    "loss": "Severity: loss; what is reported may be incomplete.",
}
