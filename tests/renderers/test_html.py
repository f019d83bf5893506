"""The HTML page: whole, self-contained, and without anything that a trace could smuggle in."""

from html.parser import HTMLParser

from tracegap.renderers import html
from tracegap.report import Report

VOID = {"meta", "br", "rect"}
KNOWN = {
    "html", "head", "meta", "title", "style", "body", "main", "p", "h1", "h2", "h3", "ol", "ul", "li", "br", "small", "nav",
    "a", "div", "svg", "text", "rect", "section", "table", "thead", "tbody", "tr", "th", "td", "span", "code",
}  # fmt: skip


class Page(HTMLParser):
    """Collects tags, attributes and text, and checks that tags are closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID - {"rect"}:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_has_the_whole_report(report: Report) -> None:
    page = Page(html.render(report))
    assert page.open == []
    for part in (
        "keeps the GPU waiting",
        "44 ms",
        "aten::addmm 7",
        "308 ms",
        "tracegap analyze aten::addmm.json",
        "inferred",
    ):
        assert part in page.text


def test_a_hostile_trace_adds_no_tag_and_no_attribute(report: Report, hostile: Report) -> None:
    plain, bad = Page(html.render(report)), Page(html.render(hostile))
    assert {tag for tag, _ in bad.tags} <= KNOWN
    assert [tag for tag, _ in bad.tags] == [tag for tag, _ in plain.tags]
    assert [sorted(attributes) for _, attributes in bad.tags] == [sorted(attributes) for _, attributes in plain.tags]
    assert "\x1b" not in html.render(hostile)


def test_nothing_is_loaded_and_no_script_runs(report: Report) -> None:
    text = html.render(report)
    policy = next(attributes["content"] for tag, attributes in Page(text).tags if attributes.get("http-equiv"))
    assert policy is not None
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "<script" not in text
    assert "http://" not in text
    assert "https://" not in text
    assert " style=" not in text


def test_the_page_can_be_encoded_whatever_the_names_hold(hostile: Report) -> None:
    html.render(hostile).encode("utf-8")
