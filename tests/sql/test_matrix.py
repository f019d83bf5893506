"""The query matrix and the ready queries on both engines: equal rows for every trace there is.

Where rows differ, the trace is asked once more without what docs/reference/sql.md names as a difference (`write_plain`);
then they must be equal.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.sql.plain import write_plain
from tests.sql.queries import MATRIX
from tests.trace_processor import SHELL, Refused, TraceProcessor, missing, server
from tracegap.errors import FormatError, SourceError, UsageError
from tracegap.sql import Engine, open_engine
from tracegap.sql.named import NamedQuery, named_queries

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(missing()), reason=missing())]

ROOT = Path(__file__).parents[2]

TRACES = {
    f"{path.parent.name}/{path.name}": path
    for path in sorted(
        [*(ROOT / "sample_traces").glob("*.json*"), *(ROOT.parent / "shared" / "corpus").rglob("*.*")],
        key=lambda path: (path.parent.name, path.name),
    )
    if path.suffix != ".md"
}

CUDA, FLOWS = "pytorch-cuda/hta-nccl_data.json.gz", "other/perfetto-flow_events_json_v1.json"

QUERIES = MATRIX | {query.name: query.sql for query in named_queries() if "tracegap_" not in query.sql}

MADE_UP = range(2**30, 2**30 + 1000)
"""Numbers that stand for a pid or tid that is a text: others there."""

CHECKED = 1e-9
"""Relative difference of reals: sums of doubles in another order."""

SPILLED = "SELECT value FROM stats WHERE name = 'slice_spill_overlapping_complete_event'"

TIED = """
SELECT count(*) FROM slice c JOIN slice p ON p.id = c.parent_id
WHERE c.dur > 0 AND p.dur > 0 AND (c.ts = p.ts OR c.ts + c.dur = p.ts + p.dur)
"""
"""Slices that start or end with their parent, whose flattened time may be either's."""


@pytest.fixture(scope="module")
def real() -> Iterator[TraceProcessor]:
    with server() as running:
        yield running


def close(ours: Any, theirs: Any) -> bool:
    """Equal, but for the rounding of times and sums of reals."""
    if isinstance(ours, int | float) and isinstance(theirs, int | float):
        return ours in MADE_UP or abs(ours - theirs) <= max(2, CHECKED * abs(theirs))
    return bool(ours == theirs)


def differences(ours: list[tuple[Any, ...]], theirs: list[tuple[Any, ...]]) -> list[Any]:
    if len(ours) != len(theirs):
        return [f"{len(ours)} rows, {len(theirs)} there"]
    return [
        (a, b)
        for a, b in zip(ours, theirs, strict=True)
        if len(a) != len(b) or not all(close(x, y) for x, y in zip(a, b, strict=True))
    ][:3]


def differing(engine: Engine, real: TraceProcessor, queries: Iterable[str]) -> dict[str, list[Any]]:
    """Ask both; return what differs, by query."""
    found = {}
    for name in queries:
        result = engine.query(QUERIES[name])
        columns, rows = real.query(QUERIES[name])
        assert [column.lower() for column in result.columns] == [column.lower() for column in columns]
        if several := differences(list(result), rows):
            found[name] = several
    if "flat slices" in found and engine.query(TIED).rows[0][0]:
        del found["flat slices"]
    return found


@pytest.mark.parametrize("trace", TRACES.values(), ids=TRACES)
def test_queries_give_the_same_rows_on_both_engines(trace: Path, real: TraceProcessor, tmp_path: Path) -> None:
    left: Iterable[str] = QUERIES
    try:
        real.load(trace)
        with open_engine(trace) as engine:
            if engine.query(SPILLED).rows == ((0,),):
                left = differing(engine, real, QUERIES)
    except Refused:
        pass  # what is left once it can be read is compared below
    except FormatError:
        assert real.query("SELECT count(*) FROM slice")[1] == [(0,)]
        return
    if left:
        plain = tmp_path / "plain.json"
        try:
            write_plain(trace, plain)
        except (FormatError, SourceError):
            return  # neither reads it
        real.load(plain)
        with open_engine(plain) as engine:
            assert differing(engine, real, left) == {}


@pytest.mark.parametrize("query", named_queries(), ids=lambda query: query.name)
def test_a_ready_query_runs(query: NamedQuery, samples: Path) -> None:
    with open_engine(samples / "cuda_host_bound.json.gz") as engine:
        assert engine.query(query.sql).columns


def test_our_own_tables_are_the_same_in_both_engines(corpus: Path) -> None:
    path = corpus / CUDA
    with open_engine(path) as engine, open_engine(path, engine="perfetto", trace_processor=SHELL) as real:
        for query in named_queries():
            if "tracegap_" in query.sql:
                assert differences(list(engine.query(query.sql)), list(real.query(query.sql))) == [], query.name


def test_slices_are_found_in_the_trace_processor_though_the_clock_counts_months(samples: Path) -> None:
    sql = "SELECT count(*), count(slice_id) FROM tracegap_critical_path WHERE NOT waits"
    with open_engine(samples / "cuda_host_bound.json.gz", engine="perfetto", trace_processor=SHELL) as real:
        ((work, found),) = real.query(sql).rows
        assert work == found > 400


def test_a_critical_name_can_be_joined_to_slices_in_the_trace_processor(corpus: Path) -> None:
    joined = "SELECT count(*) FROM tracegap_operator o JOIN slice s ON s.id = o.slice_id AND s.name = o.name AND abs(s.ts - o.ts) <= 1"
    with open_engine(corpus / CUDA, engine="perfetto", trace_processor=SHELL) as real:
        assert real.query(joined).rows == real.query("SELECT count(*) FROM tracegap_operator").rows


def test_the_trace_processor_says_in_one_line_what_is_wrong(corpus: Path) -> None:
    with open_engine(corpus / FLOWS, engine="perfetto", trace_processor=SHELL) as real:
        with pytest.raises(UsageError, match=r"^the query cannot run: no such column: nosuch$"):
            real.query("SELECT nosuch FROM slice")
        assert "slice" in real.tables()


def test_a_file_that_the_trace_processor_cannot_load_is_said(tmp_path: Path) -> None:
    broken = tmp_path / "trace.json"
    broken.write_text('{"traceEvents": [{"ph": "X", "name": "a", "ts": 1, "dur": 1')
    with pytest.raises(FormatError, match="does not load it"):
        open_engine(broken, engine="perfetto", trace_processor=SHELL)
