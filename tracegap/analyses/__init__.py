"""Analyses: one file a question. `ANALYSES` is the registry, in the order of the report.

An analysis is a module with the names of `Analysis`. Its docstring (*What it shows*, *Why it costs time*, *How it is
computed*) is its page in the docs and what ``tracegap explain NAME`` prints. To add one, write the file and put it in the tuple.
"""

from tracegap.analyses import critical_path, gaps, memory, overhead, serialisation, stages, steps, utilisation
from tracegap.analyses.contract import Analysis, Model
from tracegap.analyses.verdict import FINDINGS, judge

ANALYSES: tuple[Analysis, ...] = (steps, stages, gaps, serialisation, critical_path, utilisation, memory, overhead)

__all__ = ["ANALYSES", "FINDINGS", "Analysis", "Model", "judge"]
