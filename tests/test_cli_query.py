"""``tracegap query``: where the SQL comes from, how rows are written, and one line for every error."""

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tracegap.pipeline import analyze
from tracegap.sql.schema import OWN_TABLES

EVENTS = [
    {"ph": "X", "name": "a|b", "cat": "op", "ts": 0, "dur": 3, "pid": 1, "tid": 1},
    {"ph": "X", "name": "c", "cat": "op", "ts": 10, "dur": 2.5, "pid": 1, "tid": 1},
]
SQL = "SELECT name, dur, category FROM slice ORDER BY id"


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(EVENTS))
    return path


def query(*words: object, stdin: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tracegap", "query", *map(str, words)]
    return subprocess.run(command, input=stdin, capture_output=True, encoding="utf-8", check=False, timeout=300)


def test_rows_are_a_table_by_default(trace: Path) -> None:
    done = query(trace, SQL)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "name   dur  category\n----  ----  --------\na|b   3000  op\nc     2500  op\n"


def test_every_text_format_has_all_rows(trace: Path) -> None:
    rows = [["a|b", "3000", "op"], ["c", "2500", "op"]]
    assert list(csv.reader(io.StringIO(query(trace, SQL, "--format", "csv").stdout)))[1:] == rows
    loaded = json.loads(query(trace, SQL, "--format", "json").stdout)
    assert loaded[0] == {"name": "a|b", "dur": 3000, "category": "op"}
    assert query(trace, SQL, "--format", "md").stdout.splitlines()[1:] == [
        "| --- | ---: | --- |", "| a\\|b | 3000 | op |", "| c | 2500 | op |",
    ]  # fmt: skip


def test_a_file_s_suffix_chooses_the_format(trace: Path, tmp_path: Path) -> None:
    assert query(trace, SQL, "-o", tmp_path / "rows.csv").returncode == 0
    assert (tmp_path / "rows.csv").read_text() == "name,dur,category\na|b,3000,op\nc,2500,op\n"


def test_sql_comes_from_a_file_or_stdin(trace: Path, tmp_path: Path) -> None:
    file = tmp_path / "q.sql"
    file.write_text("CREATE VIEW v AS SELECT 1 AS one; SELECT one FROM v;")
    assert query(trace, "-f", file, "--format", "csv").stdout == "one\n1\n"
    assert query(trace, "-", "--format", "csv", stdin="SELECT 2 AS two").stdout == "two\n2\n"
    assert query(trace, "--format", "csv", stdin="SELECT 3 AS three").stdout == "three\n3\n"


def test_ready_queries_are_listed_and_run(trace: Path) -> None:
    listed = query("--list").stdout.splitlines()
    assert len(listed) >= 12
    assert all(line.endswith("?") for line in listed)
    done = query(trace, "--named", "categories", "--format", "csv")
    assert done.stdout == "category,slices,names,total_ns\nop,2,2,5500\n"


def test_the_shell_answers_one_query_after_the_other(trace: Path) -> None:
    typed = (
        ".tables\nSELECT name\nFROM slice LIMIT 1;\nSELECT nosuch;\n.run categories\nhelp\n.nothing\n.quit\nSELECT 5;\n"
    )
    done = query(trace, "--interactive", stdin=typed)
    assert done.returncode == 0
    assert "thread_track\n" in done.stdout
    assert "a|b\n" in done.stdout
    assert "category  slices" in done.stdout
    assert ".tables        what can be queried" in done.stdout
    assert "the query cannot run: no such column: nosuch" in done.stderr
    assert ".nothing is no command; .help lists them" in done.stderr


@pytest.mark.parametrize("option", [["--steps", "1"], ["--between", "0ms:1ms"], ["--whole"]])
def test_a_window_that_the_query_does_not_look_at_is_refused(option: list[str], trace: Path) -> None:
    done = query(trace, SQL, *option)
    assert (done.returncode, done.stdout) == (2, "")
    assert "of which the query reads none" in done.stderr


def test_a_file_in_the_place_of_the_sql_is_told_from_it(trace: Path, tmp_path: Path) -> None:
    file = tmp_path / "q.sql"
    file.write_text("SELECT 1")
    done = query(trace, file)
    assert done.returncode == 2
    assert f"run what is in it with -f {file}" in done.stderr.replace("\n", "")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["{trace}", "SELECT nosuch FROM slice"], "no such column: nosuch"),
        (["{trace}", "DROP TABLE slice"], "queries may only read: a change of slice is refused"),
        (["{trace}", "SELECT 1", "--format", "xml"], "choose one of table, csv, json, md, parquet, arrow"),
        (["{trace}", "SELECT 1", "--format", "parquet"], "needs a file: say -o FILE"),
        (["{trace}", "SELECT 1", "--named", "steps"], "give the SQL once"),
        (["{trace}", "--named", "nothing"], "there is no query named nothing: choose one of"),
        (["{trace}", "-f", "{trace}.sql"], "cannot be read: No such file or directory"),
        (["{trace}", "SELECT 1", "--engine", "duckdb"], "choose one of embedded, perfetto"),
        (["{trace}", "SELECT 1", "--engine", "perfetto", "--trace-processor", "/nowhere/shell"], "there is no such file"),
        (["{trace}", "--interactive", "--named", "steps"], "leave out the other SQL"),
        (["-", "--interactive"], "trace and SQL cannot both come from stdin"),
        (["--list", "--format", "json"], "leave out --format"),
        (["{trace}", "/* nothing */;"], "the SQL has no statement"),
        (["-"], "trace and SQL cannot both come from stdin"),
        ([], "name a trace to query"),
    ],
)  # fmt: skip
def test_an_error_is_one_line_and_exit_code_2(words: list[str], text: str, trace: Path) -> None:
    done = query(*(word.format(trace=trace) for word in words))
    assert done.returncode == 2
    assert text in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_the_shell_takes_a_statement_whole(trace: Path) -> None:
    done = query(
        trace, "--interactive", stdin="SELECT 'a;\nb' AS one; -- done\nSELECT ';' AS two, -- not ;\n3\nAS three"
    )
    assert done.returncode == 0
    assert done.stdout == "one\n-----\na;\\nb\ntwo  three\n---  -----\n;        3\n"


def test_the_shell_survives_what_its_streams_cannot_hold(trace: Path) -> None:
    command = [sys.executable, "-m", "tracegap", "query", str(trace), "--interactive"]
    typed = b"SELECT '\xff';\nSELECT char(233) AS e;\n"
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, input=typed, capture_output=True, env=environment, check=False)
    assert (done.returncode, done.stdout) == (0, b"e\n-\n?\n")
    assert b"the SQL is not UTF-8 at its character 9\n" in done.stderr


@pytest.mark.skipif(os.name == "nt", reason="needs pipes that have a name")
def test_standard_output_may_be_named(trace: Path) -> None:
    done = query(trace, SQL, "-o", "/dev/stdout", "--format", "csv")
    assert (done.returncode, done.stdout) == (0, "name,dur,category\na|b,3000,op\nc,2500,op\n")


@pytest.mark.parametrize("seconds", ["inf", "1e300"])
def test_a_time_limit_may_be_beyond_all_clocks(seconds: str, trace: Path) -> None:
    assert query(trace, "SELECT 1 AS one", "--time-limit", seconds, "--format", "csv").stdout == "one\n1\n"


def test_a_time_limit_ends_a_query(trace: Path) -> None:
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"
    done = query(trace, endless, "--time-limit", "0.2")
    assert done.returncode == 2
    assert "ran for more than 0.2 s" in done.stderr


ENDLESS_CALL = "SELECT instr(zeroblob(90000000), zeroblob(50000000) || x'01')"  # SQLite does not look up in it


def test_a_time_limit_ends_one_endless_call(trace: Path) -> None:
    done = query(trace, ENDLESS_CALL, "--time-limit", "0.2")
    assert (done.returncode, done.stdout) == (2, "")
    assert "ran for more than 0.2 s" in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_shell_survives_a_call_that_does_not_end(trace: Path) -> None:
    for before in ("", "CREATE PERFETTO TABLE t AS SELECT 1 AS a; CREATE OR REPLACE PERFETTO TABLE t AS "):
        said = f"{before}{ENDLESS_CALL};\n.tables\nSELECT 1;\n"
        done = query(trace, "--interactive", "--time-limit", "0.2", stdin=said)
        assert (done.returncode, done.stdout) == (0, "")
        assert "ran for more than 0.2 s" in done.stderr
        assert done.stderr.count("an earlier query could not be stopped and is still running") == 2


@pytest.mark.slow  # and takes 2.6 GB
def test_a_query_that_multiplies_is_refused_before_memory_is_gone(trace: Path) -> None:
    tables = ", ".join(f"t{n} AS (SELECT a.v FROM t{n - 1} a JOIN t{n - 1} b)" for n in range(1, 30))
    done = query(trace, f"WITH t0 AS (SELECT 1 AS v), {tables} SELECT count(*) FROM t29", "--time-limit", "0")
    assert done.returncode == 2
    assert "needs more memory than it may take" in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_shell_shows_the_columns_of_a_table_and_leaves_without_a_dot(trace: Path) -> None:
    done = query(trace, "--interactive", stdin=".schema tracegap_step\n.schema nosuch\nquit\nSELECT 1;\n")
    assert done.stdout.split() == list(OWN_TABLES["tracegap_step"])
    assert "no such table: nosuch; .tables lists them" in done.stderr


def test_the_window_of_our_own_tables_can_be_chosen(samples: Path) -> None:
    wall = "SELECT sum(dur) AS ns FROM tracegap_critical_path"
    chosen = query(samples / "cuda_host_bound.json.gz", wall, "--steps", "2:3", "--format", "json")
    window = analyze(samples / "cuda_host_bound.json.gz", steps=(2, 3)).window
    assert json.loads(chosen.stdout) == [{"ns": window["wall_ns"]}]
    assert "no such step" in query(samples / "cuda_host_bound.json.gz", wall, "--steps", "9").stderr
