"""What a file is that is not a trace, in one sentence that tells the reader what to do.

In: its first bytes, its top-level keys, and what went wrong. Out: the sentence.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tracegap.problems import Problem

_LINK = "record a trace with torch.profiler, jax.profiler, TensorFlow, ONNX Runtime or another writer of Chrome's Trace Event format"

_KILLED = "the program may have been killed while its profiler wrote: copy the file again, or record again"


def describe(
    beginning: bytes,
    header: Mapping[str, Any],
    events: str,
    *,
    end: int | None = None,
    layers: Sequence[str] = (),
    problems: Sequence[Problem] = (),
) -> str:
    """Say what the file is.

    Parameters
    ----------
    beginning : bytes
        Its first non-blank bytes.
    header : mapping of str to object
        The keys of its top-level object, as far as it has one.
    events : str
        First letter of the value of ``traceEvents``; "" where there is no such key, ``[`` for a bare array.
    end : int, optional
        The byte at which the text ends, if it does before the JSON.
    layers : sequence of str
        What it is packed in, from outside in.
    problems : sequence of Problem
        What was met while reading.

    Examples
    --------
    >>> describe(b"null", {}, "")[:51]
    'no trace: the JSON text is only a null; record agai'
    """
    inside = f"{layers[0]}: " if layers and layers[0].startswith("zip member") else ""
    start = beginning.lstrip()
    if not start or start[:1] in (b"[", b"{"):
        for one in problems:
            if one.code in _OF_ARCHIVE:
                cut = f"{_OF_ARCHIVE[one.code]} {one.example.removesuffix(' of the archive')}"
                return f"no events: {cut}, before its first event is whole; copy the file again, or record again"
    if start[:1] == b"[":
        what = _of_list(start, end, problems)
    elif start[:1] == b"{":
        what = _of_object(header, events, end, problems)
    else:
        what = _of_text(start, layers[-1] if layers and not inside else "file")
    return inside + what


_OF_ARCHIVE = {"truncated-archive": "the archive is cut off at", "damaged-archive": "the archive is damaged"}


def _of_text(start: bytes, what: str) -> str:
    if not start:
        return (
            f"the {what} is empty; the program may have been killed before its profiler wrote the trace, record again"
        )
    for pattern, what, remedy in _STARTS:
        if re.match(pattern, start):
            return f"no trace: {what}; {remedy}"
    if sum(byte < 9 or 13 < byte < 32 or byte > 126 for byte in start[:256]) > len(start[:256]) // 8:
        return "no trace: binary data in no packing that is read here (gzip, zstd, zip); export the trace as JSON"
    return f"no trace: text that is no JSON; {_LINK}"


_STARTS = (
    (rb"(?s).{257}ustar", "a tar archive", "unpack it and name one file"),
    (rb"version https://git-lfs", "a Git LFS pointer, not the file it points to", "fetch the file with `git lfs pull`"),
    (rb"(?i)<!doctype html|<html", "an HTML page, perhaps an error page of the server", "download the trace again"),
    (rb"<\?xml|<", "an XML file", _LINK),
    (rb"null\b", "the JSON text is only a null", "record again"),
    (rb'"', "the JSON text is only a string", "record again"),
    (rb"(true|false|-?\d[\d.eE+-]*)\s*\Z", "the JSON text is only a number or truth value", "record again"),
    (rb"\x0a.{1,8}TracePacket|\x0a[\x80-\xff]?[\x00-\x7f]?\x08", "a binary protobuf", "export the trace as JSON"),
)


def _of_list(start: bytes, end: int | None, problems: Sequence[Problem]) -> str:
    if re.match(rb"\[\s*\]", start):
        return "no events: the list is empty; the profiler recorded nothing, check that the work ran while it was on"
    if re.match(rb"\[\s*\[\s*-?\d+\s*,\s*\d+\s*,", start):
        return "no trace: a PyTorch memory timeline; pass the file that export_chrome_trace wrote"
    return _broken(end, problems) or "no trace: the list holds no event object; check which file this is"


def _broken(end: int | None, problems: Sequence[Problem]) -> str:
    """Say why no event of a list could be read, if it is damage."""
    lost = next((one for one in problems if one.code in ("skipped-event", "skipped-text")), None)
    where = "" if end is None else f", and the text ends at byte {end:,}"
    if lost is not None:
        return (
            f"no events: what stands at {lost.example} is cut off or damaged beyond repair, nothing else is whole{where};"
            f" {_KILLED}"
        )
    return "" if end is None else f"no events: the text ends at byte {end:,}, before the first; {_KILLED}"


def _of_object(header: Mapping[str, Any], events: str, end: int | None, problems: Sequence[Problem]) -> str:
    if events == "[":
        return _broken(end, problems) or (
            "no events: `traceEvents` is empty; the profiler recorded nothing, check that the work ran while it was on"
        )
    if events == "{":
        return "no trace: `traceEvents` is an object, not a list; the file was re-written by another tool, use the original"
    if events:
        return "no events: `traceEvents` is no list; the profiler wrote no events, record again"
    if "nodes" in header and ("schema" in header or "pid" in header):
        return "no trace: a PyTorch execution trace (graph of operators without times); pass the file that export_chrome_trace wrote"
    if "speedscope" in str(header.get("$schema", "")):
        return "no trace: a speedscope profile; pass the trace that it was made from"
    if "nodes" in header and "edges" in header:
        return "no trace: a graph (`nodes`, `edges`); pass a recorded trace"
    if {"nodes", "samples"} <= header.keys() or {"profiles", "shared"} <= header.keys():
        return "no trace: a sampling profile; pass a trace of events"
    keys = ", ".join(f"`{str(key)[:40]}`" for key in list(header)[:4]) or "no keys"
    if end is not None:
        return (
            f"no events: the JSON text is cut or damaged before byte {end:,} and has no `traceEvents` (it has {keys}); copy"
            " the file again, or record again"
        )
    return f"no trace: JSON without `traceEvents` (it has {keys}); check which file this is"
