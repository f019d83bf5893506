"""Markdown for GitHub: the verdict above the fold, the rest folded, and no name that becomes markup, mention or link."""

import re

from tracegap.renderers import markdown
from tracegap.report import Report


def test_the_verdict_and_the_table_that_matters_stand_above_the_fold(report: Report) -> None:
    fold = markdown.render(report).split("<details>")[0]
    assert fold.splitlines()[0] == "**bound by the host: aten::addmm keeps the GPU waiting**"
    assert "1. aten::addmm drains the queue: 44 ms. Read it later." in fold
    assert "| before the gap (5 of 56) | idle | share | gaps |\n| :-- | --: | --: | --: |" in fold
    assert "| `aten::addmm 0` | 80.00 ms | 4.0 % | 1 |" in fold


def test_every_table_row_has_as_many_cells_as_its_heading(hostile: Report) -> None:
    rows = [line for line in markdown.render(hostile).splitlines() if line.startswith("| ")]
    assert len(rows) > 10
    # What GitHub's table scanner sees: an escape is a backslash with the punctuation behind it.
    widths = {re.sub(r"\\[!-/:-@\[-`{-~]", "", row).count("|") - 1 for row in rows}
    assert widths == {2, 4}


def test_sections_and_problems_are_folded_and_the_gantt_is_mermaid(report: Report) -> None:
    out = markdown.render(report)
    assert "    title step 7, the median one, 48.0 ms (axis in ms)\n" in out
    assert out.count("<details>") == out.count("</details>") == 4
    assert "<summary><b>Where are the gaps?</b>: GPU 0 is idle 308 ms of 1,923 ms (16.0 %)" in out
    assert (
        "    section host\n    aten.addmm 14.0 ms :0, 14000\n    section GPU 0\n    busy 39.0 ms :9000, 48000\n```"
        in out
    )
    assert out.endswith("Reproduce: `tracegap analyze aten::addmm.json`\n")


def test_every_folded_part_begins_behind_a_blank_line(report: Report) -> None:
    # GFM reads Markdown inside HTML only behind a blank line.
    out = markdown.render(report)
    assert all(part.startswith("\n\n") for part in out.split("</summary>")[1:])


def test_hostile_names_make_no_html_outside_code(hostile: Report) -> None:
    out = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", markdown.render(hostile))
    assert set(re.findall(r"<[^>]*>", out)) == {
        "<sub>", "</sub>", "<details open>", "<details>", "</details>", "<summary>", "</summary>", "<b>", "</b>"
    }  # fmt: skip


def test_hostile_names_mention_nobody_and_link_nowhere(hostile: Report) -> None:
    out = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", markdown.render(hostile))
    assert "@octocat" not in out
    sentences = re.sub(r"<summary>.*?</summary>", "", out)  # GFM reads no Markdown there
    assert not re.search(r"(?<!\\)[\[\]*]", sentences.replace("**", ""))
    assert "https://" not in out
    assert not re.search(r"(?<!&)#\d", out)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\ud800-\udfff]", out)


def test_code_spans_are_fenced_by_more_backticks_than_they_hold() -> None:
    assert markdown._code("a `` b") == "```a `` b```"
    assert markdown._code("`x`") == "`` `x` ``"
    assert markdown._code("a|b", in_table=True) == "`a\\|b`"
    assert markdown._code("a\\|b", in_table=True) == "`a\\\\\\|b`"


def test_sentences_that_begin_like_markup_stay_sentences() -> None:
    assert markdown._text("1. item") == "1&#8203;. item"
    assert markdown._text("# no heading") == "\\# no heading"
    assert markdown._text("- no list") == "\\- no list"
    assert markdown._text("snake_case and _emphasis_") == "snake_case and \\_emphasis\\_"


def test_a_report_stays_under_the_size_of_a_comment(many_sections: Report) -> None:
    assert len(markdown.render(many_sections)) < 65_536
