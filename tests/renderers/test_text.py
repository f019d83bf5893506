"""The terminal report: one screen, aligned, safe, with colour only on request."""

import re
from dataclasses import replace

import pytest
from rich.cells import cell_len

from tracegap.renderers import text
from tracegap.report import Column, Report, Section, Table, Verdict
from tracegap.units import Unit


def test_the_whole_report_at_80_columns(report: Report) -> None:
    assert (
        text.render(report, width=80)
        == """\
tracegap 1.0 · aten::addmm.json · PyTorch on aten::addmm · 40 steps, 1.92 s · 12
events

  VERDICT  bound by the host: aten::addmm keeps the GPU waiting
   1  aten::addmm drains the queue: 44 ms. Read it later.

  GAPS     GPU 0 is idle 308 ms of 1,923 ms (16.0 %) in 2,113 gaps, the longest
           before aten::addmm.
           before the gap (5 of 56)         idle  share   gaps
           aten::addmm 0  ████████████  80.00 ms  4.0 %      1
           aten::addmm 1  ██████████▌   70.00 ms  3.5 %  1,001
           aten::addmm 2  █████████     60.00 ms  3.0 %  2,001
           aten::addmm 3  ███████▌      50.00 ms  2.5 %  3,001
           aten::addmm 4  ██████        40.00 ms  2.0 %  4,001

  STAGES   stage            median
           aten::addmm    48.00 ms
             forward      14.00 ms
             backward

  TRACE    4 × launch-without-kernel: Launch calls carry a correlation id, but
           no device slice in the trace has it.
           3 × clipped-child · details: tracegap info
"""
    )


@pytest.mark.parametrize("width", [80, 100, 140])
def test_no_line_is_wider_than_the_terminal(hostile: Report, many_sections: Report, width: int) -> None:
    for one in (hostile, many_sections):
        assert max(map(cell_len, text.render(one, width=width).splitlines())) <= width


@pytest.mark.parametrize("width", [80, 100])
def test_a_report_fits_one_screen_and_every_section_keeps_a_line(many_sections: Report, width: int) -> None:
    out = text.render(many_sections, width=width)
    assert len(out.splitlines()) <= text.SCREEN
    assert all(f"PART{number}" in out for number in range(7))


def test_full_tells_every_row_note_and_remedy(whole: Report) -> None:
    out = text.render(whole)
    assert "aten::addmm 7" in out
    assert "~ The sync after aten::addmm is inferred from its name." in out
    assert "Record fewer steps" in out
    assert "first: event 7, aten::addmm" in out


def test_control_characters_of_a_trace_never_reach_the_terminal(hostile: Report) -> None:
    out = text.render(hostile, width=120)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\ud800-\udfff]", out)
    assert "\\x1b" in out


def test_colour_is_written_only_when_asked_for(report: Report) -> None:
    plain, coloured = text.render(report, width=80), text.render(report, width=80, colour=True)
    assert "\x1b[" not in plain
    assert "\x1b[" in coloured
    assert [line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", coloured).splitlines()] == plain.splitlines()


def test_markup_in_names_is_text_in_colour_too() -> None:
    report = Report({}, {}, {}, (), {}, (), Verdict("[red]not red[/red] \\[x]", "mixed"))
    assert "[red]not red[/red] \\[x]" in re.sub(r"\x1b\[[0-9;]*m", "", text.render(report, colour=True))


def test_columns_that_do_not_fit_are_named_not_cut() -> None:
    numbers = tuple(Column(f"heading {n}", Unit.NANOSECONDS, (123_456_789,)) for n in range(9))
    table = Table("names", (Column("", Unit.TEXT, ("operator " * 9,)), *numbers))
    report = Report({}, {}, {}, (), {}, (Section("a", "A", (), (table,)),), Verdict("fine", "device"), full=True)
    out = text.render(report, width=80)
    assert "left out for width: heading 5, heading 6, heading 7, heading 8" in " ".join(out.split())
    assert "123.5 ms" in out


def test_wide_characters_keep_the_columns_aligned() -> None:
    table = Table("", (Column("", Unit.TEXT, ("卷积核", "gemm")), Column("n", Unit.COUNT, (1, 22))))
    report = Report({}, {}, {}, (), {}, (Section("a", "A", (), (table,)),), Verdict("fine", "device"))
    rows = [line for line in text.render(report).splitlines() if line.endswith(("1", "22"))]
    assert len({cell_len(row) for row in rows}) == 1


def test_a_report_without_anything_to_say_is_still_a_report(report: Report) -> None:
    bare = replace(report, sections=(), problems=(), headline=(), verdict=None)
    assert text.render(bare) == "tracegap 1.0 · aten::addmm.json\n"


def test_of_nested_rows_that_do_not_all_fit_the_longest_are_shown_in_order() -> None:
    stage = Column("stage", Unit.TEXT, ("load", "forward", "inner", "log", "backward"))
    share = Column("of window", Unit.RATIO, (0.02, 0.4, 0.3, 0.01, 0.5), bar=True)
    table = Table("Stages", (stage, share), total=5, brief=3, indent=(0, 0, 1, 0, 0))
    report = Report({}, {}, {}, (), {}, (Section("stages", "Stages", (), (table,)),), Verdict("fine", "device"))
    out = text.render(report)
    assert "Stages (3 of 5)" in out
    assert re.findall(r"(\s\s\w+)\s+█", out) == ["  forward", "  inner", "  backward"]


def test_tables_that_are_to_be_kept_outlast_further_sentences_and_other_tables() -> None:
    rows = tuple(f"row {number}" for number in range(8))
    table = Table("kept", (Column("", Unit.TEXT, rows), Column("n", Unit.COUNT, tuple(range(8)))), keep=4)
    other = Table("other", table.columns)
    sections = [Section(f"part{number}", "", ("One. " * 60, "Two."), (other,)) for number in range(6)]
    sections.insert(2, Section("gaps", "", ("Idle.", "The longest."), (table, other)))
    out = text.render(Report({}, {}, {}, (), {}, tuple(sections), Verdict("fine", "device")), width=80)
    assert len(out.splitlines()) <= text.SCREEN
    lines = [line.split() for line in out.splitlines()]
    place = lines.index(["kept", "(4", "of", "8)"])
    assert lines[place + 2 : place + 6] == [["row", str(number), str(number)] for number in range(4)]


def test_a_long_sentence_loses_its_last_clauses_and_stays_a_sentence() -> None:
    sentence = (
        "GPU 0 is busy 99 % of the window" + "; and this is a clause of some length that takes its place" * 6 + "."
    )
    report = Report({}, {}, {}, (), {}, (Section("a", "A", (sentence,)),), Verdict("fine", "device"))
    told = [line.strip() for line in text.render(report, width=80).splitlines()[4:] if line.strip()]
    assert len(told) <= 3
    assert told[-1].endswith(".")
    assert "…" not in "".join(told)


def test_of_a_section_with_a_table_for_each_of_many_devices_a_screen_shows_some() -> None:
    rows = (Column("cause", Unit.TEXT, ("launch", "sync")), Column("n", Unit.COUNT, (2, 1)))
    tables = tuple(Table(f"Why GPU {number} is idle", rows, keep=4) for number in range(300))
    report = Report({}, {}, {}, (), {}, (Section("gaps", "", ("Idle.",), tables),), Verdict("fine", "device"))
    out = text.render(report, width=80)
    assert "Why GPU 0 is idle" in out
    assert len(out.splitlines()) < 2 * text.SCREEN
    assert "Why GPU 299 is idle" in text.render(replace(report, full=True), width=80)
