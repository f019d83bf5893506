"""The embedded engine on traces small enough to see the answer."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from tracegap.decode import iterate
from tracegap.errors import FormatError, SourceError, UsageError
from tracegap.pipeline import analyze
from tracegap.sql import Engine, guard, open_engine
from tracegap.sql.named import named_queries

Open = Callable[..., Engine]


def x(name: str, start: float, end: float, *, tid: Any = 1, pid: Any = 1, **more: Any) -> dict[str, Any]:
    """One complete event, times in µs."""
    return {"ph": "X", "name": name, "ts": start, "dur": round(end - start, 3), "pid": pid, "tid": tid, **more}


def event(phase: str, at: float, name: str | None = None, *, tid: Any = 1, pid: Any = 1, **more: Any) -> dict[str, Any]:
    return {"ph": phase, "ts": at, "pid": pid, "tid": tid, **({"name": name} if name else {}), **more}


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Open]:
    engines: list[Engine] = []

    def open_events(*events: dict[str, Any]) -> Engine:
        path = tmp_path / f"trace{len(engines)}.json"
        path.write_text(json.dumps({"traceEvents": list(events)}))
        engines.append(open_engine(path))
        return engines[-1]

    yield open_events
    for engine in engines:
        engine.close()


def slices(engine: Engine) -> tuple[tuple[Any, ...], ...]:
    return engine.query("SELECT name, ts, dur, depth, parent_id FROM slice ORDER BY id").rows


def test_slices_nest_by_time(opened: Open) -> None:
    engine = opened(x("outer", 0, 10), x("inner", 2, 5), x("next", 10, 12))
    assert slices(engine) == (
        ("outer", 0, 10_000, 0, None),
        ("inner", 2_000, 3_000, 1, 0),
        ("next", 10_000, 2_000, 0, None),
    )


def test_times_are_exact_where_doubles_are_not(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text('[{"ph": "X", "name": "a", "ts": 1722505412345678.901, "dur": 0.512, "pid": 1, "tid": 1}]')
    with open_engine(path) as engine:
        assert engine.query("SELECT ts, dur FROM slice").rows == ((1_722_505_412_345_678_901, 512),)


def test_a_longer_slice_of_the_same_start_is_the_parent_whatever_the_order(opened: Open) -> None:
    assert [row[0] for row in slices(opened(x("short", 0, 5), x("long", 0, 9)))] == ["long", "short"]


def test_a_slice_that_partly_overlaps_goes_to_a_track_of_its_own(opened: Open) -> None:
    engine = opened(x("a", 0, 10), x("b", 5, 15), x("c", 7, 8))
    rows = engine.query(
        "SELECT s.name, t.type, depth FROM slice s JOIN thread_track t ON t.id = s.track_id ORDER BY s.id"
    ).rows
    assert rows == (("a", "thread_execution", 0), ("b", "thread_overlapping_slice", 0), ("c", "thread_execution", 1))
    assert engine.query("SELECT value FROM stats WHERE name = 'slice_spill_overlapping_complete_event'").rows == ((1,),)


def test_begins_and_ends_pair_by_name_and_missing_names_match_any(opened: Open) -> None:
    engine = opened(
        event("B", 0, "a"), event("B", 1, "b"), event("E", 2, "b"), event("E", 3), event("E", 4), event("B", 5, "c")
    )
    assert slices(engine) == (("a", 0, 3_000, 0, None), ("b", 1_000, 1_000, 1, 0), ("c", 5_000, -1, 0, None))


def test_closing_an_outer_begin_cuts_the_inner_one(opened: Open) -> None:
    engine = opened(event("B", 0, "outer"), event("B", 1, "inner"), event("E", 4, "outer"), event("B", 9, "later"))
    assert [row[:3] for row in slices(engine)][:2] == [("outer", 0, 4_000), ("inner", 1_000, 3_000)]
    assert engine.query("SELECT value FROM stats WHERE name = 'misplaced_end_event'").rows == ((1,),)


def test_instants_stand_on_thread_process_or_the_whole(opened: Open) -> None:
    engine = opened(event("i", 1, "t"), event("i", 2, "p", s="p"), event("i", 3, "g", s="g"))
    rows = engine.query("SELECT s.name, dur, type FROM slice s JOIN track t ON t.id = track_id ORDER BY s.id").rows
    assert rows == (
        ("t", 0, "thread_execution"),
        ("p", 0, "chrome_process_instant"),
        ("g", 0, "legacy_chrome_global_instants"),
    )


def test_asynchronous_slices_have_tracks_that_are_no_thread_s(opened: Open) -> None:
    engine = opened(
        event("b", 0, "job", cat="c", id=1), event("b", 1, "job", cat="c", id=2), event("e", 2, "job", cat="c", id=1),
        event("e", 5, "job", cat="c", id=2), event("b", 6, "job", cat="c", id=3), event("e", 7, "job", cat="c", id=3),
    )  # fmt: skip
    assert engine.query("SELECT track_id, ts, dur FROM slice ORDER BY id").rows == (
        (0, 0, 2_000), (1, 1_000, 4_000), (0, 6_000, 1_000),
    )  # fmt: skip
    assert engine.query("SELECT name, type FROM track").rows == (("job", "legacy_async_global_slice"),) * 2
    assert engine.query("SELECT count(*) FROM thread_track").rows == ((0,),)


def test_threads_have_the_last_names_and_the_idle_thread_comes_first(opened: Open) -> None:
    engine = opened(
        {"ph": "M", "name": "process_name", "pid": 7, "args": {"name": "python"}},
        {"ph": "M", "name": "thread_name", "pid": 7, "tid": 8, "args": {"name": "worker"}},
        x("a", 0, 1, pid=7, tid=8),
        x("b", 0, 1, pid="Spans", tid="profiler"),
    )
    rows = engine.query("SELECT utid, t.name, p.name, is_main_thread FROM thread t JOIN process p USING (upid)").rows
    assert rows == (
        (0, None, None, 1),
        (1, None, "python", 1),
        (2, "worker", "python", 0),
        (3, None, "Spans", 1),
        (4, "profiler", "Spans", 0),
    )


def test_arguments_are_flattened_and_equal_sets_are_one(opened: Open) -> None:
    nested = {"n": 3, "shape": [[8, 2], []], "o": {"k": "v"}, "yes": True, "half": 0.5, "none": None}
    engine = opened(x("a", 0, 1, args=nested), x("b", 2, 3, args=nested), x("c", 4, 5))
    assert engine.query("SELECT name, arg_set_id FROM slice").rows == (("a", 0), ("b", 0), ("c", None))
    rows = engine.query(
        "SELECT flat_key, key, value_type, display_value FROM args WHERE arg_set_id = 0 ORDER BY id"
    ).rows
    assert rows == (
        ("args.n", "args.n", "int", "3"),
        ("args.shape", "args.shape[0][0]", "int", "8"),
        ("args.shape", "args.shape[0][1]", "int", "2"),
        ("args.o.k", "args.o.k", "string", "v"),
        ("args.yes", "args.yes", "bool", "true"),
        ("args.half", "args.half", "real", "0.5"),
    )
    found = engine.query(
        "SELECT extract_arg(arg_set_id, 'args.shape[0][1]'), extract_arg(arg_set_id, 'args.yes'), "
        "extract_arg(arg_set_id, 'args.nothing') FROM slice"
    )
    assert found.rows == ((2, 1, None), (2, 1, None), (None, None, None))


def test_arguments_are_the_same_however_they_are_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    events = [
        x("a", 0, 1, args={"k": "one", "more": [1]}), event("B", 2, "b", args={"k": 2.5, "x": 1}), x("c", 2.5, 2.6),
        event("E", 3, "b", args={"k": True}), x("a", 4, 5, args={"k": "one", "more": [1]}), x("d", 6, 7, args={"k": None}),
        event("s", 0.5, "arrow", id=1, cat="k"), event("f", 4.5, "arrow", id=1, cat="k", bp="e"),
    ]  # fmt: skip
    path.write_text(json.dumps(events), "utf-8")
    queries = (  # with the key in the statement, with one that is worked out, and from the table
        "SELECT id, extract_arg(arg_set_id, 'args.k') FROM slice ORDER BY id",
        "SELECT id, extract_arg(arg_set_id, 'args.' || iif(id < 0, 'x', 'k')) FROM slice ORDER BY id",
        "SELECT s.id, iif(value_type = 'bool', int_value, coalesce(string_value, real_value)) "
        "FROM slice s LEFT JOIN args a ON a.arg_set_id = s.arg_set_id AND a.key = 'args.k' ORDER BY s.id",
    )
    flow = "SELECT extract_arg(arg_set_id, 'name'), extract_arg(arg_set_id, 'c' || 'at') FROM flow"
    for order in permutations(queries):
        with open_engine(path) as engine:
            assert engine.query("SELECT count(*) FROM slice").rows == ((5,),)
            for sql in order:
                assert engine.query(sql).rows == ((0, "one"), (1, 1), (2, None), (3, "one"), (4, None))
            assert engine.query(flow).rows == (("arrow", "k"),)
            assert engine.query("SELECT arg_set_id FROM slice ORDER BY id").rows == ((0,), (1,), (None,), (0,), (None,))
            assert engine.query("SELECT DISTINCT arg_set_id FROM args ORDER BY 1").rows == ((0,), (1,), (2,))


def test_an_end_s_arguments_win_over_its_begin_s(opened: Open) -> None:
    engine = opened(event("B", 0, "a", args={"x": 1, "y": 2}), event("E", 3, "a", args={"y": 5, "z": 6}))
    assert engine.query("SELECT key, int_value FROM args ORDER BY key").rows == (
        ("args.x", 1),
        ("args.y", 5),
        ("args.z", 6),
    )


@pytest.mark.parametrize("number", ["9" * 400, "9" * 5000, "1e400"])
def test_an_argument_that_fits_no_number_is_its_text(tmp_path: Path, number: str) -> None:
    text = json.dumps(
        [x("a", 0, 1, args={"n": 1}), x("b", 2, 3, args={"n": "@", "m": 2**70}), x("c", 4, 5, args={"n": 3})]
    )
    path = tmp_path / "trace.json"
    path.write_text(text.replace('"@"', number), "utf-8")
    with open_engine(path) as engine:
        rows = engine.query(
            "SELECT name, key, int_value, real_value, string_value FROM slice JOIN args USING (arg_set_id) ORDER BY slice.id, args.id"
        )
    assert rows.rows == (
        ("a", "args.n", 1, None, None),
        ("b", "args.n", None, None, number),
        ("b", "args.m", None, 2.0**70, None),
        ("c", "args.n", 3, None, None),
    )


@pytest.mark.parametrize("number", ["9" * 400, "9" * 5000, "1e400", "1e300", '"inf"', '"nan"'])
def test_thread_times_and_counters_that_fit_no_number_are_none(tmp_path: Path, number: str) -> None:
    events = [x("a", 0, 1, tts="@", tdur=1), x("b", 2, 3, tts=1, tdur="@"), event("C", 5, "c", args={"v": "@", "w": 2})]
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(events).replace('"@"', number), "utf-8")
    with open_engine(path) as engine:
        times = engine.query("SELECT thread_ts, thread_dur FROM slice").rows
        values = engine.query("SELECT value FROM counter").rows
    assert times == ((None, 1_000), (1_000, None))
    assert values == (((1e300,), (2.0,)) if number == "1e300" else ((2.0,),))


def test_thread_times_are_those_of_the_thread_s_clock(opened: Open) -> None:
    engine = opened(
        x("a", 0, 10, tts=3, tdur=2), event("B", 20, "b", tts=7), event("E", 30, "b", tts=11.5), event("i", 40, "p", s="p", tts=9)
    )  # fmt: skip
    rows = engine.query("SELECT name, thread_ts, thread_dur FROM slice ORDER BY id").rows
    assert rows == (("a", 3_000, 2_000), ("b", 7_000, 4_500), ("p", None, None))


def test_true_and_one_are_different_arguments(opened: Open) -> None:
    engine = opened(x("a", 0, 1, args={"v": 1}), x("b", 2, 3, args={"v": True}), x("c", 4, 5, args={"v": 1.0}))
    assert engine.query("SELECT value_type FROM args ORDER BY id").rows == (("int",), ("bool",), ("real",))


def test_a_flow_binds_to_what_is_open_or_to_what_comes_next(opened: Open) -> None:
    engine = opened(
        x("launch", 0, 10), event("s", 3, "f", cat="c", id=1), x("open", 20, 30, tid=2),
        event("f", 25, "f", cat="c", id=1, bp="e", tid=2), event("f", 26, "f", cat="c", id=1, tid=2), x("next", 40, 50, tid=2),
        event("f", 45, "f", cat="c", id=2, bp="e", tid=2),
    )  # fmt: skip
    names = "SELECT o.name AS a, i.name AS b FROM flow JOIN slice o ON o.id = slice_out JOIN slice i ON i.id = slice_in"
    assert engine.query(f"{names} ORDER BY i.id").rows == (("launch", "open"), ("launch", "next"))
    assert engine.query("SELECT value FROM stats WHERE name = 'flow_end_without_start'").rows == ((1,),)
    assert engine.query("SELECT a.name FROM slice s JOIN ancestor_slice(s.id) a").rows == ()
    assert len(engine.query("SELECT id FROM following_flow(0)")) == 2


def test_flows_by_bind_id_go_from_slice_to_slice(opened: Open) -> None:
    engine = opened(x("a", 0, 1, bind_id="0x5", flow_out=True), x("b", 2, 3, bind_id="0x5", flow_in=True))
    assert engine.query("SELECT slice_out, slice_in, trace_id FROM flow").rows == ((0, 1, 5),)


def test_a_counter_has_one_track_for_each_value(opened: Open) -> None:
    engine = opened(event("C", 5, "mem", args={"free": 1, "used": "2.5"}), event("C", 3, "mem", args={"free": 4}))
    rows = engine.query(
        "SELECT t.name, ts, value FROM counter c JOIN process_counter_track t ON t.id = track_id ORDER BY c.id"
    )
    assert rows.rows == (("mem free", 3_000, 4.0), ("mem free", 5_000, 1.0), ("mem used", 5_000, 2.5))


def test_an_event_without_name_or_category_has_perfetto_s_words_for_it(opened: Open) -> None:
    engine = opened({"ph": "X", "ts": 0, "dur": 1, "pid": 1, "tid": 1, "cat": ""})
    assert engine.query("SELECT name, category, cat FROM slice").rows == (("[No name]", None, None),)


def test_negative_times_and_slices_without_length_are_left_out(opened: Open) -> None:
    engine = opened(x("before", -5, 1), {"ph": "X", "name": "no dur", "ts": 1, "pid": 1, "tid": 1}, x("a", 3, 4))
    assert engine.query("SELECT name FROM slice").rows == (("a",),)


def test_modules_are_included_by_name_or_pattern(opened: Open) -> None:
    engine = opened(x("a", 0, 10), x("b", 2, 5))
    assert engine.query("INCLUDE PERFETTO MODULE slices.self_dur; SELECT self_dur FROM slice_self_dur").rows == (
        (7000,),
        (3000,),
    )
    assert engine.query("include perfetto module slices.*; SELECT name, tid FROM thread_slice").rows == (
        ("a", 1),
        ("b", 1),
    )
    assert engine.query("SELECT name, ts, dur FROM _slice_flattened ORDER BY ts").rows == (
        ("a", 0, 2_000), ("b", 2_000, 3_000), ("a", 5_000, 5_000),
    )  # fmt: skip


def test_a_query_that_leaves_arguments_alone_does_not_read_them(opened: Open) -> None:
    engine = opened(x("a", 0, 10, args={"k": 1}))
    engine.query("INCLUDE PERFETTO MODULE slices.with_context; SELECT name, thread_name FROM thread_slice")
    assert "details" not in engine._filler._done  # type: ignore[attr-defined]
    engine.query("SELECT arg_set_id FROM thread_slice")
    assert "details" in engine._filler._done  # type: ignore[attr-defined]
    engine.query("SELECT extract_arg(arg_set_id, 'args.k') FROM slice")
    assert "__arg" not in engine._filler._done  # type: ignore[attr-defined]


def test_all_arguments_of_a_query_are_read_in_one_pass(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    passes: list[Any] = []

    def counted(source: Any) -> Any:
        passes.append(source)
        return iterate(source)

    monkeypatch.setattr("tracegap.sql.arguments.iterate", counted)
    engine = opened(x("a", 0, 10, args={"k": 1, "l": 2, "m": 3}))
    engine.query("CREATE PERFETTO FUNCTION m(s LONG) RETURNS LONG AS SELECT extract_arg($s, 'args.m')")
    assert engine.query("SELECT extract_arg(arg_set_id, 'args.k') FROM slice").rows == ((1,),)
    assert len(passes) == 1
    rows = engine.query("SELECT extract_arg(arg_set_id, 'args.l'), m(arg_set_id) FROM slice").rows
    assert (rows, len(passes)) == (((2, 3),), 2)
    worked_out = "WITH k(v) AS (VALUES ('k'), ('l'), ('m')) SELECT extract_arg(arg_set_id, 'args.' || v) FROM slice, k"
    assert engine.query(worked_out).rows == ((1,), (2,), (3,))
    assert len(passes) == 3


@pytest.mark.parametrize("arguments", [[1], "x", 3, None, {}, {"none": None, "empty": [], "deep": {"empty": [[]]}}])
def test_arguments_that_hold_nothing_are_none(arguments: Any, opened: Open) -> None:
    engine = opened(x("a", 0, 10, args=arguments))
    assert engine.query("SELECT arg_set_id, extract_arg(arg_set_id, 'args.x') FROM slice").rows == ((None, None),)
    assert engine.query("SELECT count(*) FROM args").rows == ((0,),)


def test_an_end_that_stands_before_its_begin_still_wins(opened: Open) -> None:
    begin, end = event("B", 0, "a", args={"v": 1}), event("E", 3, "a", args={"v": 2}, tts=9)
    for events in ((begin, end), (end, begin)):
        engine = opened(*events)
        assert engine.query("SELECT extract_arg(arg_set_id, 'args.v'), thread_ts, thread_dur FROM slice").rows == (
            (2, None, None),
        )


def test_two_threads_ask_one_engine_in_turn(opened: Open) -> None:
    engine = opened(x("a", 0, 10))
    seen: list[Any] = []

    def ask(sql: str) -> None:
        for _ in range(200):
            try:
                seen.append(engine.query(sql).rows)
            except UsageError as error:
                seen.append(str(error))

    threads = [threading.Thread(target=ask, args=(sql,)) for sql in ("SELECT 1", "ATTACH 'x' AS y")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert seen.count(((1,),)) == 200
    assert sum("is refused" in str(one) for one in seen) == 200


def test_functions_views_tables_and_macros_of_the_user(opened: Open) -> None:
    engine = opened(x("a", 0, 10), x("b", 2, 5))
    engine.query("CREATE PERFETTO FUNCTION twice(v LONG) RETURNS LONG AS SELECT $v * 2")
    engine.query("CREATE PERFETTO TABLE t(name STRING) AS SELECT name, twice(dur) AS d FROM slice")
    engine.query(
        "CREATE OR REPLACE PERFETTO VIEW v AS SELECT d FROM t; CREATE OR REPLACE PERFETTO VIEW v AS SELECT name, d FROM t"
    )
    engine.query(
        "CREATE PERFETTO MACRO more(x Expr, y Expr) RETURNS Expr AS $x + $y; CREATE PERFETTO INDEX i ON t(name)"
    )
    assert engine.query("SELECT name, more!(d, 1) FROM v; -- the last statement's rows\n").rows == (
        ("a", 20_001),
        ("b", 6_001),
    )
    engine.query("INSERT INTO t VALUES ('c', 1); DROP VIEW v; DROP TABLE t")
    assert "t" not in engine.tables()


def test_a_function_reads_the_trace(opened: Open) -> None:
    engine = opened(x("a", 0, 10), x("b", 2, 5))
    engine.query(
        "CREATE PERFETTO FUNCTION long_of(n STRING) RETURNS LONG AS SELECT sum(dur) FROM slice WHERE name = $n"
    )
    assert engine.query("SELECT long_of('b')").rows == ((3_000,),)


@pytest.mark.parametrize(
    "sql",
    [
        "ATTACH 'other.db' AS other",
        "SELECT load_extension('x')",
        "PRAGMA writable_schema = 1",
        "PRAGMA temp_store_directory = '.'",
        "PRAGMA journal_mode = WAL",
        "VACUUM INTO 'copy.db'",
        "DELETE FROM slice",
        "UPDATE slice SET dur = 0",
        "INSERT INTO args (id) VALUES (1)",
        "DROP TABLE slice",
        "DROP VIEW thread_track",
        "ALTER TABLE slice RENAME TO other",
        "CREATE TRIGGER t AFTER INSERT ON flow BEGIN SELECT 1; END",
        "BEGIN",
        "SAVEPOINT s",
        "DETACH main",
        "CREATE TEMP TABLE slice AS SELECT 5 AS id",
        "CREATE TEMP VIEW ARGS AS SELECT 1",
        "CREATE TABLE __args_by_set (x)",
        "CREATE TABLE t AS SELECT 1 AS x; CREATE INDEX __slice_by_parent_id ON t (x)",
        "CREATE PERFETTO FUNCTION like(a STRING, b STRING) RETURNS BOOL AS SELECT 1",
        "CREATE PERFETTO FUNCTION ancestor_slice(a LONG) RETURNS TABLE(id LONG) AS SELECT 1 AS id",
    ],
)
def test_queries_that_would_change_something_are_refused(sql: str, opened: Open, tmp_path: Path) -> None:
    engine = opened(x("a", 0, 10))
    files = sorted(tmp_path.iterdir())
    with pytest.raises(UsageError) as refusal:
        engine.query(sql)
    assert "\n" not in str(refusal.value)
    assert engine.query("SELECT name, dur FROM slice WHERE name LIKE 'a%'").rows == (("a", 10_000),)
    assert engine.query("SELECT * FROM args").rows == engine.query("SELECT * FROM ancestor_slice(0)").rows == ()
    assert sorted(tmp_path.iterdir()) == files


@pytest.mark.parametrize(
    "sql",
    [
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n",
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION SELECT x + 1 FROM n) SELECT max(x) FROM n",
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT median(x) FROM n",
    ],
)
def test_a_query_without_end_is_stopped(sql: str, opened: Open) -> None:
    engine = opened(x("a", 0, 10))
    begin = time.monotonic()
    with pytest.raises(UsageError, match=r"^the query ran for more than 0\.2 s and was stopped; .*--time-limit$"):
        engine.query(sql, time_limit_s=0.2)
    assert time.monotonic() - begin < 10
    assert engine.query("SELECT count(*) FROM slice").rows == ((1,),)


def test_a_pattern_without_end_is_stopped(opened: Open) -> None:
    engine = opened(x("a", 0, 10))
    with pytest.raises(UsageError, match=r"has a pattern that takes too long|ran for more than 60 s"):
        engine.query("SELECT regexp('(a|aa)+$', printf('%.*c', 60, 'a') || 'b')")
    with pytest.raises(UsageError, match="has a pattern that takes too long"):
        engine.query("SELECT regexp('z' || printf('%.*c', 10000, 'a'), printf('%.*c', 2000000, 'a'))")
    with pytest.raises(UsageError, match="has a pattern that takes too long"):
        engine.query("SELECT regexp('z' || printf('%.*c', 5000, 'a'), printf('%.*c', 19000, 'a'))")
    assert engine.query("SELECT regexp('^(a|aa)+$', 'aaa')").rows == ((1,),)


def test_a_plan_can_be_looked_at(opened: Open) -> None:
    engine = opened(x("a", 0, 10), x("b", 2, 5))
    (row,) = engine.query("-- how?\nexplain /* 1 */ query plan SELECT name FROM slice WHERE parent_id = 0").rows
    assert row[-1] == "SEARCH slice USING INDEX __slice_by_parent_id (parent_id=?)"
    assert "OpenRead" in engine.query("EXPLAIN SELECT name FROM slice")["opcode"]
    with pytest.raises(UsageError, match="no such table: nosuch"):
        engine.query("EXPLAIN SELECT * FROM nosuch")
    for sql in ("QUERY PLAN SELECT 1", "EXPLAIN QUERY PLAN QUERY PLAN SELECT 1"):
        with pytest.raises(UsageError, match="syntax error"):
            engine.query(sql)


def test_a_plan_of_a_million_steps_is_refused(opened: Open) -> None:
    engine = opened(x("a", 0, 10))
    doubled = ", ".join(f"t{n} AS (SELECT v + v AS v FROM t{n - 1})" for n in range(1, 20))
    with pytest.raises(UsageError, match="needs more memory than it may take"):
        engine.query(f"WITH t0 AS (SELECT dur AS v FROM slice), {doubled} SELECT sum(v) FROM t19")
    assert engine.query("SELECT count(*) FROM slice").rows == ((1,),)


def test_a_function_without_end_is_stopped(opened: Open) -> None:
    engine = opened(x("a", 0, 10))
    engine.query("CREATE PERFETTO FUNCTION f(v LONG) RETURNS LONG AS SELECT f($v + 1)")
    with pytest.raises(UsageError, match="calls itself without end"):
        engine.query("SELECT f(1)")


def test_an_answer_that_memory_should_not_hold_is_refused(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = opened(x("a", 0, 10))
    engine.query("CREATE TABLE t AS VALUES ('aaa'), (x'000000')")
    monkeypatch.setattr(guard, "MAX_LENGTH", 6)
    assert len(engine.query("SELECT * FROM t")) == 2
    with pytest.raises(UsageError, match="more than 6 characters; add a LIMIT"):
        engine.query("SELECT *, 'a' FROM t")
    monkeypatch.setattr(guard, "MAX_ROWS", 1)
    with pytest.raises(UsageError, match="more than 1 rows; add a LIMIT") as refusal:
        engine.query("SELECT * FROM t")
    engine.query("DROP TABLE t")  # nothing still reads it, though the error is kept
    assert refusal.tb is not None


def test_macros_that_grow_beyond_all_bounds_are_refused(opened: Open) -> None:
    twice = "CREATE PERFETTO MACRO twice(x Expr) RETURNS Expr AS $x + $x; SELECT "
    with pytest.raises(UsageError, match="more than 1,000,000 words with its macros in place"):
        opened(x("a", 0, 10)).query(twice + "twice!(" * 40 + "1" + ")" * 40)


def test_a_quote_that_is_left_open_is_found_at_once(opened: Open) -> None:
    begin = time.monotonic()
    with pytest.raises(UsageError, match=r"has a \[ without its other half"):
        opened(x("a", 0, 10)).query("[" * 1_000_000)
    assert time.monotonic() - begin < 10


def test_a_value_beyond_all_bounds_is_refused(opened: Open) -> None:
    with pytest.raises(UsageError, match="too big"):
        opened(x("a", 0, 10)).query("SELECT length(zeroblob(500000000))")


@pytest.mark.parametrize(
    ("sql", "text"),
    [
        ("SELECT nosuch FROM slice", "the query cannot run: no such column: nosuch"),
        ("SELECT s.nme FROM slice s", "no such column: s.nme; near: name"),
        (
            "SELECT * FROM thread_slice",
            "no such table: thread_slice; INCLUDE PERFETTO MODULE slices.with_context first",
        ),
        ("INCLUDE PERFETTO MODULE android.startup", "the embedded engine has no module android.startup, only"),
        ("SELECT 'open", "the query has a ' without its other half; close the quotes"),
        ("SELECT (1", "the query cannot run: incomplete input"),
        ("SELECT nosuch!(1)", "there is no macro nosuch!; INCLUDE PERFETTO MODULE"),
        ("CREATE VIRTUAL TABLE v USING span_join(a, b)", "use --engine perfetto"),
        (
            "CREATE PERFETTO FUNCTION f(x LONG) RETURNS TABLE(y LONG) AS SELECT $x AS y; SELECT * FROM f(1, 2)",
            "f is given 2 values: write f(x)",
        ),
        (
            "CREATE PERFETTO FUNCTION f() RETURNS TABLE(y LONG) AS SELECT * FROM f(); SELECT * FROM f()",
            "call each other without end",
        ),
        (
            "CREATE PERFETTO MACRO m(a Expr, b Expr) RETURNS Expr AS $a + $b; SELECT m!(1)",
            "m! is given 1 values: write m!(a, b)",
        ),
        ("CREATE PERFETTO TABLE t", "has no AS"),
        ("SELECT '\udcff'", "the SQL is not UTF-8 at its character 9"),
        ("SELECT 1\0", "the SQL has a NUL character"),
        ("SELECT * FROM ancestor_slice(1) AS", "ancestor_slice(…) AS has no name behind it"),
        ("SELECT * FROM " + "ancestor_slice(" * 2000 + "1" + ")" * 2000, "nests too deep"),
        ("CREATE PERFETTO MACRO m(a Expr,, b Expr) RETURNS Expr AS $a", "a parameter without a name"),
        (
            f"CREATE PERFETTO FUNCTION f({', '.join(f'a{n} LONG' for n in range(200))}) RETURNS LONG AS SELECT 1",
            "too many",
        ),
        ('SELECT * FROM "a("', "no such table: a(; there are args,"),
        ("SELECT $x", "the query has a parameter, such as ? or $x"),
        ("SELECT time_from_s('x')", "a function of the query failed"),
        ("SELECT percentile('x', 50)", "a function of the query failed"),
        ("SELECT * FROM sched", "no such table: sched; there are args, counter,"),
    ],
)
def test_a_wrong_query_is_explained_in_one_line(sql: str, text: str, opened: Open) -> None:
    with pytest.raises(UsageError) as explained:
        opened(x("a", 0, 10)).query(sql)
    assert text in str(explained.value)
    assert "\n" not in str(explained.value)


def test_names_in_quotes_are_names(opened: Open) -> None:
    engine = opened(x("a", 0, 10))
    engine.query('CREATE TABLE "it\'s" AS SELECT 1 AS x; CREATE PERFETTO TABLE [a table] AS SELECT 2 AS x')
    engine.query('CREATE OR REPLACE PERFETTO VIEW "a view" AS SELECT x FROM "it\'s" UNION SELECT x FROM [a table]')
    assert engine.query('SELECT x FROM "a view"')["x"] == (1, 2)


def test_bytes_and_a_byte_order_mark_may_stand_in_a_query(opened: Open) -> None:
    engine = opened(x("a", 0, 10))
    assert engine.query("\ufeffCREATE PERFETTO TABLE t AS SELECT 1; SELECT x'ff' AS b, exp(1e6) AS e").rows == (
        (b"\xff", float("inf")),
    )


def test_what_cannot_be_replaced_stays(opened: Open) -> None:
    engine = opened(x("a", 0, 10))
    engine.query("CREATE PERFETTO TABLE t AS SELECT 7 AS v")
    engine.query("CREATE PERFETTO FUNCTION f(x LONG) RETURNS LONG AS SELECT $x + 1")
    for what in ("TABLE t", "VIEW t", "FUNCTION f(x LONG) RETURNS LONG"):
        with pytest.raises(UsageError):
            engine.query(f"CREATE OR REPLACE PERFETTO {what} AS SELECT nosuch FROM args")
    assert engine.query("SELECT v, f(v) FROM t").rows == ((7, 8),)
    engine.query("CREATE OR REPLACE PERFETTO TABLE t AS SELECT name AS v FROM slice WHERE arg_set_id IS NULL")
    assert engine.query("SELECT v FROM t").rows == (("a",),)


def test_a_function_that_could_not_be_made_can_be_made_right(opened: Open) -> None:
    engine = opened(x("a", 0, 10))
    with pytest.raises(UsageError):
        engine.query("CREATE PERFETTO FUNCTION f(x LONG) RETURNS LONG AS SELECT nosuch")
    engine.query("CREATE PERFETTO FUNCTION f(x LONG) RETURNS LONG AS SELECT $x")
    assert engine.query("SELECT f(3) AS f")["f"] == (3,)


def test_a_module_is_included_whole_or_not_at_all(opened: Open) -> None:
    engine = opened(x("a", 0, 10))
    engine.query("CREATE VIEW process_slice AS SELECT 1")
    with pytest.raises(UsageError, match="process_slice already exists"):
        engine.query("INCLUDE PERFETTO MODULE slices.with_context")
    engine.query("DROP VIEW process_slice; INCLUDE PERFETTO MODULE slices.with_context")
    assert engine.query("SELECT name FROM thread_slice").rows == (("a",),)


def test_a_function_reads_what_a_view_it_names_has_become(opened: Open) -> None:
    engine = opened(x("a", 0, 10, args={"k": 5}))
    engine.query("CREATE VIEW v AS SELECT 1 AS n")
    engine.query("CREATE PERFETTO FUNCTION inner_one() RETURNS LONG AS SELECT sum(n) FROM v")
    engine.query("CREATE PERFETTO FUNCTION f() RETURNS LONG AS SELECT inner_one()")
    engine.query("CREATE OR REPLACE PERFETTO VIEW v AS SELECT int_value AS n FROM args")
    assert engine.query("SELECT f()").rows == ((5,),)


def test_a_temporary_table_fills_no_other(opened: Open) -> None:
    engine = opened(x("a", 0, 10))
    for number in range(30):  # their pages have the numbers of those of the trace's tables
        engine.query(f"CREATE TEMP TABLE t{number} AS SELECT 1 AS x")
        assert engine.query(f"SELECT x FROM t{number}").rows == ((1,),)
    assert not engine._filler._done  # type: ignore[attr-defined]


def test_ancestors_and_descendants_stand_where_tables_do(opened: Open) -> None:
    engine = opened(x("a", 0, 10), x("b", 1, 9), x("c", 2, 8), x("d", 20, 30))
    assert engine.query("SELECT name FROM ancestor_slice(2) ORDER BY id").rows == (("a",), ("b",))
    assert engine.query("SELECT name FROM descendant_slice(0) WHERE depth > 1").rows == (("c",),)
    joined = (
        "SELECT s.name AS s, r.name AS r FROM slice s LEFT JOIN ancestor_slice(s.id) AS r ON r.depth = 0 ORDER BY s.id"
    )
    assert engine.query(joined).rows == (("a", None), ("b", "a"), ("c", "a"), ("d", None))
    assert len(engine.query("SELECT 1 FROM slice s, ancestor_slice(s.id) b WHERE b.name = 'a'")) == 2


def test_a_file_that_is_no_trace_is_said_when_first_asked(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("<html></html>")
    with open_engine(path) as engine, pytest.raises(FormatError):
        engine.query("SELECT * FROM slice")


@pytest.mark.parametrize(
    "table", ["args", "counter", "tracegap_operator", "(SELECT extract_arg(arg_set_id, 'args.v') FROM slice)"]
)
def test_a_file_that_changed_between_two_readings_is_refused(table: str, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    events = [x("a", 0, 10, args={"k": 1}), event("C", 5, "mem", args={"free": 1})]
    path.write_text(json.dumps(events))
    with open_engine(path) as engine:
        assert engine.query("SELECT count(*) FROM slice").rows == ((1,),)
        path.write_text(json.dumps([*events, *events]))
        with pytest.raises(SourceError, match="changed since it was first read; open it again"):
            engine.query(f"SELECT * FROM {table}")
        assert engine.query("SELECT count(*) FROM slice").rows == ((1,),)


def test_every_ready_query_runs_on_a_trace_that_has_little(opened: Open) -> None:
    engine = opened(x("a", 0, 10))
    for query in named_queries():
        assert engine.query(query.sql).columns
        assert query.text.endswith("?")


def test_an_unknown_engine_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text("[]")
    with pytest.raises(UsageError, match="choose one of embedded, perfetto"):
        open_engine(path, engine="duckdb")


def test_steps_and_operators_join_to_slices(opened: Open) -> None:
    engine = opened(
        x("ProfilerStep#3", 0, 100, cat="user_annotation"),
        x("aten::mm", 10, 60, cat="cpu_op", args={"Input Dims": [[8, 16], [16, 4]], "Input type": ["float", "float"]}),
        x("aten::empty", 20, 30, cat="cpu_op"), x("cudaLaunchKernel", 40, 45, cat="cuda_runtime", args={"correlation": 5}),
        x("gemm", 50, 90, cat="kernel", pid=0, tid=7, args={"correlation": 5, "device": 0, "stream": 7}),
        x("ProfilerStep#4", 110, 150, cat="user_annotation"), x("aten::add", 120, 130, cat="cpu_op"),
    )  # fmt: skip
    assert engine.query("SELECT number, t.ts, t.dur, name FROM tracegap_step t JOIN slice s ON s.id = t.slice_id").rows == (
        (3, 0, 100_000, "ProfilerStep#3"), (4, 110_000, 40_000, "ProfilerStep#4"),
    )  # fmt: skip
    rows = engine.query(
        "SELECT s.name, o.self_ns, device_ns, step FROM tracegap_operator o JOIN slice s ON s.id = o.slice_id"
    )
    assert rows.rows == (
        ("aten::mm", 35_000, 40_000, 3), ("aten::empty", 10_000, 0, 3), ("aten::add", 10_000, 0, 4),
    )  # fmt: skip
    assert engine.query("SELECT shapes, flops, bytes FROM tracegap_operator WHERE name = 'aten::mm'").rows == (
        ("f32[8,16] f32[16,4]", 1024, 896),
    )
    rows = engine.query(
        "SELECT s.name, t.kind, t.device, t.step, l.name, o.name FROM tracegap_slice t JOIN slice s ON s.id = t.slice_id "
        "LEFT JOIN slice l ON l.id = t.launch_slice_id LEFT JOIN slice o ON o.id = t.operator_slice_id ORDER BY s.ts"
    )
    assert rows.rows == (
        ("ProfilerStep#3", "step", None, 3, None, None), ("aten::mm", "op", None, 3, None, "aten::mm"),
        ("aten::empty", "op", None, 3, None, "aten::empty"), ("cudaLaunchKernel", "runtime", None, 3, None, "aten::mm"),
        ("gemm", "kernel", "GPU 0", 3, "cudaLaunchKernel", "aten::mm"), ("ProfilerStep#4", "step", None, 4, None, None),
        ("aten::add", "op", None, 4, None, "aten::add"),
    )  # fmt: skip


def test_work_beyond_64_bits_is_a_real(opened: Open) -> None:
    shapes = {"Input Dims": [[10**9, 10**9], [10**9, 10**9]], "Input type": ["float", "float"]}
    engine = opened(x("aten::mm", 0, 10, cat="cpu_op", args=shapes))
    assert engine.query("SELECT flops, bytes FROM tracegap_operator").rows == ((2e27, 1.2e19),)


def test_an_engine_may_be_closed_while_another_thread_asks(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps([x(f"n{number}", number, number + 0.5) for number in range(20_000)]))
    for delay in (0.0, 0.02, 0.1, 0.2, 0.3):
        engine, said = open_engine(path), []

        def ask(engine: Engine = engine, said: list[Any] = said) -> None:
            try:
                said.append(engine.query("SELECT name, sum(dur) FROM slice GROUP BY name; SELECT 1").rows)
            except UsageError as error:
                said.append(str(error))

        thread = threading.Thread(target=ask)
        thread.start()
        time.sleep(delay)
        engine.close()
        thread.join(60)
        assert said in ([((1,),)], ["the engine is closed; open the trace anew"])


def test_a_closed_engine_says_so(opened: Open) -> None:
    engine = opened(x("a", 0, 10))
    engine.close()
    for ask in (engine.tables, lambda: engine.query("SELECT 1")):
        with pytest.raises(UsageError, match="the engine is closed"):
            ask()


@pytest.mark.parametrize("counted", ["*", "x", "regexp('a', x)", "f(x)"])
def test_ctrl_c_ends_a_query(counted: str, opened: Open) -> None:
    import _thread

    engine = opened(x("a", 0, 10))
    engine.query("CREATE PERFETTO FUNCTION f(x LONG) RETURNS LONG AS SELECT count(*) FROM slice WHERE id < $x")
    timer = threading.Timer(0.2, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        engine.query(f"WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count({counted}) FROM n")
    timer.join()
    assert engine.query("SELECT count(*) FROM slice").rows == ((1,),)


def test_the_critical_path_tiles_the_window_and_joins_to_slices(samples: Path) -> None:
    with open_engine(samples / "cuda_host_bound.json.gz") as engine:
        (wall,) = engine.query("SELECT max(device_end_ts, ts + dur) FROM tracegap_step ORDER BY ts DESC LIMIT 1")[
            "max(device_end_ts, ts + dur)"
        ]
        ((start, length, end),) = engine.query(
            "SELECT min(ts), sum(dur), max(ts + dur) FROM tracegap_critical_path"
        ).rows
        assert end - start == length
        assert end == wall
        ((worked, named),) = engine.query(
            "SELECT count(*), count(s.name) FROM tracegap_critical_path c LEFT JOIN slice s ON s.id = c.slice_id "
            "WHERE NOT waits"
        ).rows
        assert worked == named > 0


def test_gaps_of_a_device_are_its_idle_time(opened: Open) -> None:
    engine = opened(
        x("op", 0, 100, cat="cpu_op"), x("launch", 5, 10, cat="cuda_runtime", args={"correlation": 1}),
        x("first", 20, 30, cat="kernel", pid=0, tid=7, args={"correlation": 1, "device": 0, "stream": 7}),
        x("second", 70, 90, cat="kernel", pid=0, tid=7, args={"device": 0, "stream": 7}),
    )  # fmt: skip
    gaps = engine.query(
        "SELECT device, g.ts, g.dur, b.name AS before, a.name AS after FROM tracegap_gap g "
        "LEFT JOIN slice b ON b.id = before_slice_id LEFT JOIN slice a ON a.id = after_slice_id ORDER BY g.ts"
    )
    assert gaps.rows == (
        ("GPU 0", 0, 20_000, None, "first"),
        ("GPU 0", 30_000, 40_000, "first", "second"),
        ("GPU 0", 90_000, 10_000, "second", None),
    )


def test_a_gap_is_divided_among_its_causes(samples: Path) -> None:
    with open_engine(samples / "cuda_host_bound.json.gz") as engine:
        divided = engine.query(
            "SELECT g.id FROM tracegap_gap g LEFT JOIN tracegap_gap_cause c ON c.gap_id = g.id GROUP BY g.id "
            "HAVING sum(c.dur) IS NOT g.dur OR min(c.ts) IS NOT g.ts OR max(c.ts + c.dur) IS NOT g.ts + g.dur"
        )
        main = engine.query(
            "SELECT g.cause, (SELECT cause FROM tracegap_gap_cause WHERE gap_id = g.id GROUP BY cause ORDER BY sum(dur) DESC) "
            "AS most, count(*) FROM tracegap_gap g GROUP BY 1, 2"
        )
        idle = dict(engine.query("SELECT cause, sum(dur) FROM tracegap_gap_cause GROUP BY cause").rows)
    assert divided.rows == ()
    assert all(cause == most for cause, most, _ in main)
    report = analyze(samples / "cuda_host_bound.json.gz")
    assert idle == report.results["gaps"].devices[0].causes


def test_tables_of_ours_count_time_as_slices_do_where_integers_do_not_hold_the_file_s(opened: Open) -> None:
    first = 13_984_392_629_999_074  # µs
    engine = opened(x("a", first, first + 10), x("b", first + 20, first + 30))
    slices = engine.query("SELECT min(ts), max(ts + dur) FROM slice").rows
    assert slices == engine.query("SELECT min(ts), max(ts + dur) FROM tracegap_critical_path").rows == ((0, 30_000),)


def test_findings_are_those_of_the_report(samples: Path) -> None:
    with open_engine(samples / "cuda_host_bound.json.gz") as engine:
        findings = engine.query("SELECT code, cost_ns, saving_ns FROM tracegap_finding").rows
        shown = dict(
            engine.query("SELECT f.code, s.name FROM tracegap_finding f JOIN slice s ON s.id = f.slice_id").rows
        )
        texts = engine.query("SELECT title, text, evidence FROM tracegap_finding").rows
    verdict = analyze(samples / "cuda_host_bound.json.gz").verdict
    assert verdict is not None
    assert findings == tuple((one.code, one.cost_ns, one.saving_ns) for one in verdict.findings)
    assert shown["allocation"] == "cudaMalloc"
    assert shown["input"].startswith("enumerate(DataLoader)")
    assert not any("\ue000" in text for row in texts for text in row)
