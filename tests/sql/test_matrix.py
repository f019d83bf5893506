"""The query matrix and the named queries on both engines: equal rows for real traces of each profiler."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.sql.queries import MATRIX
from tests.trace_processor import SHELL, TraceProcessor, missing, server
from tracegap.errors import FormatError, UsageError
from tracegap.sql import Engine, open_engine
from tracegap.sql.named import NamedQuery, named_queries

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(missing()), reason=missing())]

SAMPLE = (
    "pytorch-cuda/hta-nccl_data.json.gz",
    "pytorch-cpu/switchtransformers-trace.json.gz",
    "tensorflow/tf-dlprof-tfrecords.json.gz",
    "tensorflow/tf-dlperf-inference-timeline.json.gz",
    "jax/jax0.10.2-multi-trace.json.gz",
    "onnxruntime/ort1.32-seq.json",
    "other/catapult-webview.json.gz",
    "other/perfetto-flow_events_json_v1.json",
)
"""Files in which nothing overlaps and no other known difference shows."""

MADE_UP = range(2**30, 2**30 + 1000)
"""Numbers that stand for a pid or tid that is a text: others there."""

CHECKED = 1e-9
"""Relative difference of reals: sums of doubles in another order."""


@pytest.fixture(scope="module")
def real() -> Iterator[TraceProcessor]:
    with server() as running:
        yield running


@pytest.fixture(scope="module", params=SAMPLE)
def both(request: pytest.FixtureRequest, corpus: Path, real: TraceProcessor) -> Iterator[tuple[TraceProcessor, Engine]]:
    real.load(corpus / request.param)
    with open_engine(corpus / request.param) as engine:
        yield real, engine


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


@pytest.mark.parametrize("name", MATRIX)
def test_a_query_gives_the_same_rows_on_both_engines(name: str, both: tuple[TraceProcessor, Engine]) -> None:
    real, engine = both
    result = engine.query(MATRIX[name])
    columns, rows = real.query(MATRIX[name])
    assert differences(list(result.rows), rows) == []
    assert [column.lower() for column in result.columns] == [column.lower() for column in columns]


@pytest.mark.parametrize("query", named_queries(), ids=lambda query: query.name)
def test_a_ready_query_runs_on_both_engines(query: NamedQuery, both: tuple[TraceProcessor, Engine]) -> None:
    real, engine = both
    ours = engine.query(query.sql)
    if "tracegap_" in query.sql:  # asked of the trace processor below, where our tables are
        assert ours.columns
    else:
        assert differences(list(ours.rows), real.query(query.sql)[1]) == []


def test_our_own_tables_are_the_same_in_both_engines(corpus: Path) -> None:
    path = corpus / SAMPLE[0]
    with open_engine(path) as engine, open_engine(path, engine="perfetto", trace_processor=SHELL) as real:
        for query in named_queries():
            if "tracegap_" in query.sql:
                assert differences(list(engine.query(query.sql)), list(real.query(query.sql))) == [], query.name


def test_a_critical_name_can_be_joined_to_slices_in_the_trace_processor(corpus: Path) -> None:
    joined = "SELECT count(*) FROM tracegap_operator o JOIN slice s ON s.id = o.slice_id AND s.name = o.name AND abs(s.ts - o.ts) <= 1"
    with open_engine(corpus / SAMPLE[0], engine="perfetto", trace_processor=SHELL) as real:
        assert real.query(joined).rows == real.query("SELECT count(*) FROM tracegap_operator").rows


def test_the_trace_processor_says_in_one_line_what_is_wrong(corpus: Path) -> None:
    with open_engine(corpus / SAMPLE[-1], engine="perfetto", trace_processor=SHELL) as real:
        with pytest.raises(UsageError, match=r"^the query cannot run: no such column: nosuch$"):
            real.query("SELECT nosuch FROM slice")
        assert "slice" in real.tables()


def test_a_file_that_the_trace_processor_cannot_load_is_said(tmp_path: Path) -> None:
    broken = tmp_path / "trace.json"
    broken.write_text('{"traceEvents": [{"ph": "X", "name": "a", "ts": 1, "dur": 1')
    with pytest.raises(FormatError, match="does not load it"):
        open_engine(broken, engine="perfetto", trace_processor=SHELL)
