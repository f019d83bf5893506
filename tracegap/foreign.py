"""What a file is that is not a trace, in one sentence that tells the reader what to do.

In: its first bytes and its top-level keys. Out: the sentence.
"""

import re
from collections.abc import Mapping
from typing import Any

_LINK = "Record a trace with torch.profiler, jax.profiler, TensorFlow, ONNX Runtime or another writer of Chrome's Trace Event format"


def describe(beginning: bytes, header: Mapping[str, Any], events: str) -> str:
    """Say what the file is.

    Parameters
    ----------
    beginning : bytes
        Its first non-blank bytes.
    header : mapping of str to object
        The keys of its top-level object, as far as it has one.
    events : str
        First letter of the value of ``traceEvents``; "" where there is no such key.

    Examples
    --------
    >>> describe(b"null", {}, "")[:51]
    'no trace: the JSON text is only a null; record agai'
    """
    start = beginning.lstrip()
    if not start:
        return "the file is empty; the program may have been killed before its profiler wrote the trace, record again"
    if start[:1] == b"[":
        return _of_list(start)
    if start[:1] == b"{":
        return _of_object(header, events)
    for pattern, what, remedy in _STARTS:
        if re.match(pattern, start):
            return f"no trace: {what}; {remedy}"
    if sum(byte < 9 or 13 < byte < 32 or byte > 126 for byte in start[:256]) > len(start[:256]) // 8:
        return "no trace: binary data in no packing that is read here (gzip, zstd, zip); export the trace as JSON"
    return f"no trace: text that is no JSON; {_LINK}"


_STARTS = (
    (rb"version https://git-lfs", "a Git LFS pointer, not the file it points to", "fetch the file with `git lfs pull`"),
    (rb"(?i)<!doctype html|<html", "an HTML page, perhaps an error page of the server", "download the trace again"),
    (rb"<\?xml|<", "an XML file", _LINK),
    (rb"null\b", "the JSON text is only a null", "record again"),
    (rb'"', "the JSON text is only a string", "record again"),
    (rb"(true|false|-?\d[\d.eE+-]*)\s*\Z", "the JSON text is only a number or truth value", "record again"),
    (rb"\x0a.{1,8}TracePacket|\x0a[\x80-\xff]?[\x00-\x7f]?\x08", "a binary protobuf", "export the trace as JSON"),
)


def _of_list(start: bytes) -> str:
    if re.match(rb"\[\s*\]", start):
        return "no events: the list is empty; the profiler recorded nothing, check that the work ran while it was on"
    if re.match(rb"\[\s*\[\s*-?\d+\s*,\s*\d+\s*,", start):
        return "no trace: a PyTorch memory timeline; pass the file that export_chrome_trace wrote"
    return "no trace: the list holds no event object; check which file this is"


def _of_object(header: Mapping[str, Any], events: str) -> str:
    if events == "[":
        return (
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
    keys = ", ".join(f"`{str(key)[:40]}`" for key in list(header)[:4])
    return f"no trace: JSON without `traceEvents` (it has {keys or 'no keys'}); check which file this is"
