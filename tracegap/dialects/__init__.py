"""Dialects: what the events of one profiler mean. One file a profiler; `DIALECTS` is the registry.

A dialect is a module with the names of `Dialect`. To add one, write the file and put it in the tuple.
"""

from tracegap.dialects import chrome, jax, onnxruntime, pytorch, tensorflow
from tracegap.dialects.marks import Device, Dialect, Head, Marks, TrackMarks
from tracegap.errors import UsageError

__all__ = ["DIALECTS", "Device", "Dialect", "Head", "Marks", "TrackMarks", "detect"]

DIALECTS: tuple[Dialect, ...] = (pytorch, tensorflow, jax, onnxruntime, chrome)
"""All dialects; the last one is for files that no other knows."""


def detect(head: Head, *, name: str | None = None) -> Dialect:
    """Return the dialect of a file: the one called `name`, else the one that knows it, else the last of `DIALECTS`.

    Raises
    ------
    UsageError
        When there is no dialect of that name, or several take the file for theirs.
    """
    by_name = {dialect.NAME: dialect for dialect in DIALECTS}
    if name is not None:
        if name not in by_name:
            raise UsageError(f"no dialect is called {name!r}: choose one of {', '.join(by_name)}")
        return by_name[name]
    known = [dialect for dialect in DIALECTS if dialect.sniff(head)]
    if len(known) > 1:
        names = " and ".join(dialect.NAME for dialect in known)
        raise UsageError(f"the file looks like {names} at once: choose with --dialect {known[0].NAME}")
    return known[0] if known else DIALECTS[-1]
