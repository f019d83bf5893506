"""``tracegap explain CODE``: what a problem, a finding, an analysis or a cause means."""

from typing import Annotated

import typer

from tracegap.cli.output import write
from tracegap.errors import UsageError

NAME = "explain"


def codes() -> list[str]:
    """Return all that can be explained, for completion."""
    from tracegap.explain import catalogue

    return sorted(catalogue())


def run(
    code: Annotated[
        str | None,
        typer.Argument(metavar="CODE", help="A code as reports print it; none lists all.", autocompletion=codes),
    ] = None,
) -> None:
    """Explain a problem, a finding, an analysis, or a cause."""
    from tracegap.explain import catalogue, meant

    known = catalogue()
    if code is None:
        wide = max(map(len, known))
        write("".join(f"{name:<{wide}}  {text.splitlines()[0]}\n" for name, text in sorted(known.items())), None)
        return
    asked, code = code, meant(code)
    if code not in known:
        from difflib import get_close_matches

        close = get_close_matches(code, known, 1)
        hint = f"did you mean {close[0]}?" if close else "tracegap explain lists all"
        raise UsageError(f"explain: {asked!r} is no code of a problem, finding, analysis or cause; {hint}")
    write(known[code].rstrip() + "\n", None)
