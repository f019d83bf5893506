"""The embedded engine against Perfetto's trace processor: what both say of every collected trace.

Perfetto v52 is what runs here. The known differences (docs/reference/sql.md) are allowed for, each by its own rule: it
rounds times to the nanosecond in doubles, so that a child may outlast its parent and is dropped; it drops what overlaps,
which goes to a track of its own here; it leaves escapes in strings as they are; and it stops at an event it cannot read.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.trace_processor import Refused, TraceProcessor, missing, server
from tracegap.errors import FormatError, SourceError
from tracegap.sql import open_engine

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(missing()), reason=missing())]

CORPUS = Path(__file__).parents[2] / "shared" / "corpus"

READ_FURTHER = {
    "derived-huge-timestamps.json": "times beyond int64 wrap around there",
    "cxxtracing-trace.json": "times beyond int64 are dropped there",
    "derived-json-lines.json": "objects without an array around them are not read there",
    "derived-lone-surrogates.json": "half a surrogate pair is a replacement character here",
    "ascend-npu-trace_view.json.gz": "thread ids over 32 bits are 0 there, so that threads fall together",
    "ibm-aiu-allreduce_tp4.json": "thread ids over 64 bits are 0 there, so that threads fall together",
}
"""Files of which the trace processor reads less, or something else, and why."""


def traces() -> list[Path]:
    return sorted(path for path in CORPUS.rglob("*") if path.is_file() and path.suffix != ".md")


@pytest.fixture(scope="module")
def real() -> Iterator[TraceProcessor]:
    with server() as running:
        yield running


def spelled_out(name: str) -> str:
    """A name as JSON means it, which v52 shows as the file spells it."""
    try:
        return json.loads(f'"{name}"') if "\\" in name else name
    except ValueError:
        return name


SUMS = "SELECT name, count(*), sum(dur) FROM slice GROUP BY name"
OUR_SUMS = """
SELECT s.name, count(*), sum(s.dur) FROM slice s JOIN track t ON t.id = s.track_id
WHERE t.type != 'thread_overlapping_slice' GROUP BY s.name
"""


@pytest.mark.parametrize("path", traces(), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_names_have_the_same_counts_and_summed_durations(path: Path, real: TraceProcessor) -> None:
    if path.name in READ_FURTHER:
        pytest.skip(READ_FURTHER[path.name])
    try:
        real.load(path)
        theirs = {spelled_out(name): (count, total) for name, count, total in real.query(SUMS)[1]}
    except Refused as reason:
        pytest.skip(f"the trace processor refuses it: {str(reason)[:80]}")
    dropped = sum(row[0] for row in real.query("SELECT value FROM stats WHERE name LIKE 'slice_drop_overlapping%'")[1])
    with open_engine(path) as engine:
        try:
            ours = {name: (count, total) for name, count, total in engine.query(OUR_SUMS)}
        except (FormatError, SourceError):
            assert theirs == {}
            return
        spilled = sum(engine.query("SELECT value FROM stats WHERE name LIKE 'slice_spill%'")["value"])

    extra = {name: count - theirs.get(name, (0, 0))[0] for name, (count, _) in ours.items()}
    assert set(theirs) <= set(ours)
    assert all(count >= 0 for count in extra.values())
    assert sum(extra.values()) + spilled == dropped
    for name, (count, total) in theirs.items():
        if not extra[name]:
            assert abs(ours[name][1] - total) <= 2 * count, name
