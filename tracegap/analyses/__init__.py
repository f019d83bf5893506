"""Analyses: one file a question. `ANALYSES` is the registry, in the order of the report.

An analysis is a module with the names of `Analysis`. Its docstring (*What it shows*, *Why it costs time*, *How it is
computed*) is its page in the docs and what ``tracegap explain NAME`` prints. To add one, write the file and put it in the tuple.
One that has the names of `Offering`, too, gives findings to the verdict.
"""

from collections.abc import Mapping
from typing import Any

from tracegap.analyses import critical_path, gaps, memory, overhead, serialisation, stages, steps, utilisation, verdict
from tracegap.analyses.contract import Analysis, Labelled, Model, Offering
from tracegap.report import Verdict

ANALYSES: tuple[Analysis, ...] = (steps, stages, gaps, serialisation, critical_path, utilisation, memory, overhead)

NAMES: Mapping[str, str] = {
    word: one.NAME for one in ANALYSES for word in (one.NAME, one.LABEL if isinstance(one, Labelled) else one.NAME)
}
"""Names of analyses by what they are called, by their name or the label of their section."""

_OFFERING = [(one.NAME, one) for one in ANALYSES if isinstance(one, Offering)]

FINDINGS: Mapping[str, str] = {
    **verdict.FINDINGS,
    **{code: text for _, one in _OFFERING for code, text in one.FINDINGS.items()},
}
"""What each finding means and what to do, by code."""


def run_all(model: Model) -> dict[str, Any]:
    """Run all analyses: the results by name; those that have no answer are left out."""
    answers = ((analysis.NAME, analysis.run(model)) for analysis in ANALYSES)
    return {name: result for name, result in answers if result is not None}


def judge(model: Model, results: Mapping[str, Any]) -> Verdict:
    """Say what bounds the window and what to do, from the results of the analyses by their names."""
    offered = [found for name, one in _OFFERING if name in results for found in one.findings(results[name], model)]
    return verdict.judge(model, results, offered)


__all__ = ["ANALYSES", "FINDINGS", "NAMES", "Analysis", "Labelled", "Model", "Offering", "judge", "run_all"]
