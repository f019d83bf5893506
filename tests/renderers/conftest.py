"""Reports built by hand: a plain one, and one in which every text from the trace is hostile."""

from dataclasses import dataclass

import pytest

from tracegap.problems import problem
from tracegap.report import Bar, Chart, Column, Finding, Report, Section, Table, Verdict
from tracegap.units import Unit

MS = 1_000_000

HOSTILE = (
    'evil |`x`| <script>alert(1)</script> <img src=x onerror=alert(1)> "quoted" & [link](https://evil.example) '
    "@octocat #1 **bold** \x1b[31mred\x1b]0;title\x07 line\nbreak\r\t \u202erightleft\u202c \u200bzero \ud800 \x9b2J ``` ~~x~~ </code>"
)


@dataclass(frozen=True)
class Idle:
    """A result as an analysis makes it."""

    device: str
    idle_ns: int
    busy_ns: int
    exposed_ns: int | None = None


def make(name: str = "aten::addmm", *, full: bool = False, rows: int = 8) -> Report:
    """Build a report in which `name` stands wherever a trace's text can."""
    gaps = Section(
        "gaps",
        "Where are the gaps?",
        (f"GPU 0 is idle 308 ms of 1,923 ms (16.0 %) in 2,113 gaps, the longest before {name}.",),
        (
            Table(
                "before the gap",
                (
                    Column("", Unit.TEXT, tuple(f"{name} {row}" for row in range(rows))),
                    Column("idle", Unit.NANOSECONDS, tuple((rows - row) * 10 * MS for row in range(rows)), bar=True),
                    Column("share", Unit.RATIO, tuple((rows - row) / 200 for row in range(rows))),
                    Column("gaps", Unit.COUNT, tuple(1000 * row + 1 for row in range(rows))),
                ),
                total=56,
            ),
        ),
        (f"The sync after {name} is inferred from its name.",),
    )
    stages = Section(
        "stages",
        "Stages",
        (),
        (
            Table(
                "stage",
                (
                    Column("", Unit.TEXT, (name, "forward", "backward")),
                    Column("median", Unit.NANOSECONDS, (48 * MS, 14 * MS, None)),
                ),
                indent=(0, 1, 1),
            ),
        ),
    )
    finding = Finding(
        "sync", f"Sync of {name}", f"{name} drains the queue: 44 ms. Read it later.", 44 * MS, f"after {name}", 40 * MS
    )
    return Report(
        tool={"version": "1.0", "command": f"tracegap analyze {name}.json"},
        trace={
            "source": f"{name}.json",
            "sha256": "0" * 64,
            "dialect": "pytorch",
            "bytes": 4096,
            "events": 12,
            "slices": 10,
            "origin_ns": 1_722_505_412_345_678_901,
            "duration_ns": 1923 * MS,
            "devices": [{"device": "GPU 0", "name": name}],
            "tracks": [{"track": 0, "name": name, "role": "host", "ordered": True, "device": None, "slices": 10}],
        },
        window={"start_ns": 0, "end_ns": 1923 * MS, "wall_ns": 1923 * MS, "basis": "steps"},
        problems=(problem("launch-without-kernel", 4, f"event 7, {name}"), problem("clipped-child", 3)),
        results={"idle": Idle("GPU 0", 308 * MS, 1615 * MS)},
        sections=(gaps, stages),
        verdict=Verdict(f"bound by the host: {name} keeps the GPU waiting", "host", (finding,)),
        command=("tracegap", "analyze", f"{name}.json"),
        headline=(f"PyTorch on {name}", "40 steps, 1.92 s", "12 events"),
        chart=Chart(
            "step 7, the median one, 48.0 ms", (Bar("host", name, 0, 14 * MS), Bar("GPU 0", "busy", 9 * MS, 48 * MS))
        ),
        full=full,
    )


@pytest.fixture
def report() -> Report:
    return make()


@pytest.fixture
def whole() -> Report:
    return make(full=True)


@pytest.fixture
def hostile() -> Report:
    return make(HOSTILE, full=True)


@pytest.fixture
def many_sections() -> Report:
    """A report with far more to say than a screen holds."""
    one = make(rows=40)
    sections = tuple(
        Section(f"part{number}", "A part", (f"Sentence of part {number}. " * 12,) * 4, one.sections[0].tables * 3)
        for number in range(7)
    )
    from dataclasses import replace

    return replace(one, sections=sections)
