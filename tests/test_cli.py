"""The command line: what it prints where, its exit codes, and one line for every error."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from tracegap import cli
from tracegap.charges import MEANINGS, Charge


def trace_text() -> str:
    """Write two steps of 100 µs, each with an operator of 60 µs and one of 20 µs inside, and 10 µs between them."""
    events = []
    for number, start in ((1, 1000), (2, 1110)):
        events += [
            {
                "ph": "X",
                "cat": "user_annotation",
                "name": f"ProfilerStep#{number}",
                "pid": 1,
                "tid": 1,
                "ts": start,
                "dur": 100,
            },
            {"ph": "X", "cat": "cpu_op", "name": "aten::linear", "pid": 1, "tid": 1, "ts": start + 20, "dur": 60},
            {"ph": "X", "cat": "cpu_op", "name": "aten::addmm", "pid": 1, "tid": 1, "ts": start + 30, "dur": 20},
        ]
    return json.dumps({"schemaVersion": 1, "traceEvents": events})


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "trace.json"
    path.write_text(trace_text(), "utf-8")
    return path


class Done:
    """What a run left: its exit code and what it wrote."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> "Run":
    return Run(capsys)


class Run:
    """Runs the command line in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: object) -> Done:
        with pytest.raises(SystemExit) as stop:
            cli.main([str(argument) for argument in arguments])
        out, err = self._capsys.readouterr()
        assert isinstance(stop.value.code, int)
        return Done(stop.value.code, out, err)


def command(arguments: Sequence[object]) -> list[str]:
    return [sys.executable, "-m", "tracegap", *map(str, arguments)]


def test_analyze_prints_the_report_to_stdout_and_nothing_else(run: Run, trace: Path) -> None:
    done = run("analyze", trace)
    assert done.code == 0
    assert done.err == ""
    assert "2 steps, 210 µs · 6 events" in done.out
    assert "VERDICT" in done.out
    assert len(done.out.splitlines()) <= 45


def test_analyze_as_json_is_valid_and_knows_its_command(run: Run, trace: Path) -> None:
    done = run("analyze", trace, "--format", "json")
    document = json.loads(done.out)
    schema = json.loads(files("tracegap").joinpath("schema/report.json").read_text("utf-8"))
    Draft202012Validator(schema).validate(document)
    assert document["tool"]["command"] == f"tracegap analyze {trace} --format json"
    assert document["trace"]["events"] == 6
    assert document["window"] == {"start_ns": 0, "end_ns": 210_000, "wall_ns": 210_000, "basis": "steps"}
    assert document["overhead"]["host"]["overhead_ns"] == 90_000


@pytest.mark.parametrize(
    ("suffix", "start"),
    [(".md", "**"), (".json", '{\n  "schema"'), (".html", "<!doctype html>"), (".txt", "tracegap "), ("", "tracegap ")],
)
def test_the_suffix_of_the_output_chooses_the_format(
    run: Run, trace: Path, tmp_path: Path, suffix: str, start: str
) -> None:
    output = tmp_path / f"report{suffix}"
    done = run("analyze", trace, "-o", output)
    assert (done.code, done.out, done.err) == (0, "", "")
    assert output.read_text("utf-8").startswith(start)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["trace.json", output.name])


def test_an_output_that_exists_is_replaced_and_keeps_no_temporary_file(run: Run, trace: Path, tmp_path: Path) -> None:
    output = tmp_path / "report.md"
    output.write_text("old", "utf-8")
    assert run("analyze", trace, "-o", output).code == 0
    assert "old" not in output.read_text("utf-8")
    assert len(list(tmp_path.iterdir())) == 2


def test_section_tells_only_that_analysis_in_full(run: Run, trace: Path) -> None:
    done = run("analyze", trace, "--section", "overhead")
    assert "OVERHEAD" in done.out
    assert "GAPS" not in done.out
    document = json.loads(run("analyze", trace, "--section", "overhead", "--format", "json").out)
    assert "overhead" in document
    assert "gaps" not in document


def test_a_section_goes_by_the_label_it_has_on_the_screen_too(run: Run, trace: Path) -> None:
    labels = re.findall(r"^  ([A-Z?]+) ", run("analyze", trace).out, re.MULTILINE)
    assert "FAST?" in labels
    for label in set(labels) - {"VERDICT", "TRACE"}:
        done = run("analyze", trace, "--section", label)
        assert (done.code, label in done.out) == (0, True)
        assert "How it is computed" in run("explain", label).out


def test_steps_and_between_choose_the_window(run: Run, trace: Path) -> None:
    def window(*options: str) -> object:
        return json.loads(run("analyze", trace, "--format", "json", *options).out)["window"]

    assert window("--steps", "2:2") == {"start_ns": 110_000, "end_ns": 210_000, "wall_ns": 100_000, "basis": "user"}
    assert window("--between", "10us:50us") == {
        "start_ns": 10_000,
        "end_ns": 50_000,
        "wall_ns": 40_000,
        "basis": "user",
    }
    assert window("--whole") == {"start_ns": 20_000, "end_ns": 190_000, "wall_ns": 170_000, "basis": "whole"}


def test_a_wrong_wall_clock_is_said_in_the_report(run: Run, trace: Path) -> None:
    document = json.loads(run("analyze", trace, "--wall-clock", "50us", "--format", "json").out)
    assert document["overhead"]["wall_clock"] == {
        "clean_ns": 50_000,
        "traced_ns": 100_000,
        "ratio": 2.0,
        "trustworthy": False,
    }


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["analyze"], "Missing argument 'TRACE'; see tracegap analyze --help"),
        (["analyze", "{trace}", "--nonsense"], "No such option"),
        (["nonsense"], "No such command 'nonsense'; see tracegap --help"),
        (["{trace}"], "say tracegap analyze"),
        (["analyze", "absent.json"], "absent.json"),
        (["analyze", "{empty}"], "empty.json"),
        (["analyze", "{instants}"], "no timed slice"),
        (["analyze", "{trace}", "--steps", "7:9"], "the trace has steps 1 to 2"),
        (["analyze", "{trace}", "--steps", "x"], "write two step numbers as A:B"),
        (["analyze", "{trace}", "--between", "20ms:10ms"], "the earlier one first"),
        (["analyze", "{trace}", "--wall-clock", "soon"], "is no time"),
        (["analyze", "{trace}", "--max-bytes", "lots"], "write a size"),
        (["analyze", "{trace}", "--max-bytes", "100"], "--max-bytes"),
        (["analyze", "{trace}", "--section", "gap"], "use one of"),
        (["analyze", "{trace}", "--format", "pdf"], "text, md, json, html"),
        (["analyze", "{trace}", "--dialect", "cobol"], "cobol"),
        (["analyze", "{trace}", "--step-name", "("], "regular expression"),
        (["analyze", "{trace}", "-o", "{trace}"], "is a file that is read"),
        (["analyze", "{instants}", "--counters", "{trace}", "-o", "{trace}"], "is a file that is read"),
        (["whatif", "{instants}", "--model", "{trace}", "-o", "{trace}"], "is a file that is read"),
        (["analyze", "{trace}", "-o", "-"], "without -o"),
        (["analyze", "{trace}", "-o", "report.pdf"], "say --format"),
        (["analyze", "{trace}", "-o", "no/such/folder.md"], "no folder"),
        (["explain", "launch-without-kernl"], "did you mean launch-without-kernel?"),
    ],
)
def test_what_the_user_got_wrong_is_one_line_and_exit_2(
    run: Run, trace: Path, arguments: list[str], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(trace.parent)
    Path("empty.json").write_text("", "utf-8")
    Path("instants.json").write_text('[{"ph": "i", "name": "a", "ts": 1, "pid": 1, "tid": 1}]', "utf-8")
    places = {"trace": trace, "empty": "empty.json", "instants": "instants.json"}
    done = run(*(argument.format(**places) for argument in arguments))
    assert done.code == 2
    assert done.out == ""
    assert len(done.err.splitlines()) == 1
    assert done.err.startswith("tracegap: ")
    assert told in done.err
    assert trace.read_text("utf-8") == trace_text()


def test_strict_refuses_a_truncated_trace_that_is_else_read(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "cut.json"
    path.write_text(trace_text()[:-40], "utf-8")
    assert run("analyze", path).code == 0
    done = run("analyze", path, "--strict")
    assert done.code == 2
    assert len(done.err.splitlines()) == 1


def test_version_and_help(run: Run) -> None:
    assert re.fullmatch(r"tracegap \d+\.\d+\S*\n", run("--version").out)
    for arguments in ([], ["--help"]):
        done = run(*arguments)
        assert done.code == 0
        assert all(command.NAME in done.out for command in cli.COMMANDS)


def test_every_command_and_option_has_help(run: Run) -> None:
    for command in cli.COMMANDS:
        out = run(command.NAME, "--help").out
        assert command.run.__doc__ is not None
        assert not re.search(r"^  --[\w-]+( [A-Z:]+)?$\n(?=  -)", out, re.MULTILINE)


def test_explain_knows_problems_findings_and_analyses_and_lists_them(run: Run) -> None:
    assert "What to do:" in run("explain", "launch-without-kernel").out
    assert "How it is computed" in run("explain", "gaps").out
    assert run("explain", "untraced_host").out == run("explain", "untraced-host").out
    assert run("explain", "untraced host").out == run("explain", "untraced-host").out
    assert "had not started" in run("explain", "launch").out
    assert set(MEANINGS) == set(Charge)
    listed = run("explain").out.splitlines()
    assert listed == sorted(listed)
    assert len(listed) > 20


def test_stdin_is_a_trace(tmp_path: Path) -> None:
    done = subprocess.run(command(["analyze", "-"]), input=trace_text().encode(), capture_output=True, check=True)
    assert b"VERDICT" in done.stdout


def test_a_reader_that_stops_early_is_no_error(trace: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(command(["analyze", trace, "--full"]), stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full is Linux's")
@pytest.mark.parametrize("arguments", [["analyze", "{trace}"], ["explain", "gaps"], ["query", "--list"], ["--help"]])
def test_output_that_cannot_be_written_is_one_line_and_exit_2(trace: Path, arguments: list[str]) -> None:
    told = command([argument.format(trace=trace) for argument in arguments])
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(told, stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert b"No space left on device" in done.stderr


@pytest.mark.parametrize(
    ("closed", "arguments", "code", "told"),
    [
        (0, ["analyze", "-"], 2, b"<stdin>: the file is empty"),
        (1, ["analyze", "{trace}"], 2, b"Bad file descriptor"),
        (1, ["analyze", "{trace}", "-o", "{trace}.md"], 0, b""),
        (2, ["analyze", "{trace}"], 0, b""),
        (2, ["analyze", "absent.json"], 2, b""),
    ],
)
def test_a_closed_stream_is_no_crash(trace: Path, closed: int, arguments: list[str], code: int, told: bytes) -> None:
    words = " ".join(command([argument.format(trace=trace) for argument in arguments]))
    done = subprocess.run(["sh", "-c", f"exec {words} {closed}>&-"], capture_output=True, check=False)
    assert done.returncode == code
    assert told in done.stderr
    assert len(done.stderr.splitlines()) == bool(told)


def test_an_output_whose_name_leads_nowhere_is_one_line_and_exit_2(run: Run, trace: Path, tmp_path: Path) -> None:
    loop = tmp_path / "loop.md"
    loop.symlink_to(loop)
    for output in (loop, "n" * 300 + ".md"):
        done = run("analyze", trace, "-o", output)
        assert done.code == 2
        assert len(done.err.splitlines()) == 1


def test_an_interrupt_is_one_line_and_exit_130() -> None:
    # A background job of a shell ignores the signal, and so do its children unless they say otherwise.
    heard = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    code = f"{heard}; from tracegap.cli import main; main(['analyze', '-'])"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        # Standard input is read before all else: when this much has gone through the pipe, the command is at work.
        process.stdin.write(b" " * 1_000_000)
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:  # Python does not see a signal that comes just before a read that blocks
            process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130
        assert process.stderr is not None
        assert process.stderr.read() == b"tracegap: interrupted\n"


def _on_a_terminal(arguments: Sequence[object], **environment: str) -> str:
    """Run with a pseudo-terminal for stdout and stderr, and return all that it shows."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        command(arguments), stdout=slave, stderr=slave, env={**os.environ, "TERM": "xterm-256color", **environment}
    )
    os.close(slave)
    shown = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:  # Linux: the other end has closed
            break
        if not piece:
            break
        shown += piece
    process.wait(timeout=60)
    os.close(master)
    return shown.decode()


def test_a_terminal_gets_colour_and_progress_and_no_color_takes_the_colour_away(trace: Path) -> None:
    coloured = _on_a_terminal(["analyze", trace], NO_COLOR="")
    assert "\x1b[1;36m" in coloured
    assert f"reading {trace} …" in coloured
    plain = _on_a_terminal(["analyze", trace], NO_COLOR="1")
    assert "\x1b[1" not in plain
    assert "VERDICT" in plain


def test_help_is_quick() -> None:
    before = os.times()
    subprocess.run(command(["--help"]), capture_output=True, check=True)
    after = os.times()
    # 0.3 s is the promise on an idle machine; a busy one gets room.
    assert after.children_user + after.children_system - before.children_user - before.children_system < 0.9
