"""What `import tracegap` offers, and what it costs."""

import subprocess
import sys

import tracegap


def test_every_public_name_is_there_and_sorted() -> None:
    assert list(tracegap.__all__) == sorted(tracegap.__all__)
    for name in tracegap.__all__:
        assert getattr(tracegap, name) is not None
    assert dir(tracegap) == tracegap.__all__


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(tracegap, "analyse")


def _modules(code: str) -> set[str]:
    listing = f"import sys\n{code}\nprint(*sys.modules)"
    return set(
        subprocess.run([sys.executable, "-c", listing], capture_output=True, text=True, check=True).stdout.split()
    )


def test_importing_the_package_or_asking_for_help_loads_nothing_heavy() -> None:
    heavy = {"numpy", "rich", "orjson", "networkx", "perfetto", "msgspec", "pandas"}
    assert not _modules("import tracegap") & (heavy | {"typer"})
    help = "import tracegap.cli\ntry: tracegap.cli.main(['--help'])\nexcept SystemExit: pass"
    assert not _modules(help) & heavy
