"""The middle form between analyses and renderers."""

from tracegap.report import Column, Table
from tracegap.units import Unit


def test_a_table_knows_its_rows() -> None:
    assert Table("empty", ()).rows == 0
    assert Table("two", (Column("n", Unit.COUNT, (1, 2)),)).rows == 2
