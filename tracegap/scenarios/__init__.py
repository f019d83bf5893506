"""What-if: how long a window takes when work is scaled, set, removed, or stages are pipelined; by replay of its graph.

In: a `Dag` and `Changes`. Out: an `Answer`. Names become slices in `choice`; `web` is a graph that may change, `lanes` pipelines
its stages; `changes` makes what is asked; `curve` looks along one factor; `threads` bounds what no edge says; `answer` puts it
together, `words` says it.
"""

from tracegap.scenarios.answer import Answer, ask
from tracegap.scenarios.changes import Changes
from tracegap.scenarios.words import sections

__all__ = ["Answer", "Changes", "ask", "sections"]
