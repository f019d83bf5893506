"""Limits of devices: from the table, from a file, from options."""

from pathlib import Path

import pytest

from tracegap.costs.devices import DEVICES
from tracegap.costs.limits import Limits, find_limits, load_limits, override
from tracegap.errors import UsageError


@pytest.mark.parametrize(
    ("name", "device", "float16", "giga_bytes"),
    [
        ("Tesla V100-SXM2-16GB", "NVIDIA V100 SXM2", 125, 900),
        ("Tesla V100-DGXS-32GB", "NVIDIA V100 SXM2", 125, 900),
        ("Tesla T4", "NVIDIA T4", 65, 320),
        ("NVIDIA A10", "NVIDIA A10", 125, 600),
        ("NVIDIA A30", "NVIDIA A30", 165, 933),
        ("NVIDIA A40", "NVIDIA A40", 149.7, 696),
        ("NVIDIA A100-SXM4-80GB", "NVIDIA A100 80 GB SXM", 312, 2039),
        ("NVIDIA A100 80GB PCIe", "NVIDIA A100 80 GB PCIe", 312, 1935),
        ("NVIDIA A100-PCIE-40GB", "NVIDIA A100 40 GB", 312, 1555),
        ("NVIDIA L4", "NVIDIA L4", 121, 300),
        ("NVIDIA L40S", "NVIDIA L40S", 362.05, 864),
        ("NVIDIA GeForce RTX 3090", "NVIDIA GeForce RTX 3090", 71, 936),
        ("NVIDIA H100 80GB HBM3", "NVIDIA H100 SXM", 989.4, 3352),
        ("NVIDIA H100 PCIe", "NVIDIA H100 PCIe", 756, 2039),
        ("NVIDIA H100 NVL", "NVIDIA H100 NVL", 835.5, 3938),
        ("NVIDIA H200", "NVIDIA H200", 989.4, 4800),
        ("NVIDIA GH200 480GB", "NVIDIA GH200 96 GB", 989.4, 4000),
        ("NVIDIA B200", "NVIDIA B200", 2250, 7700),
        ("AMD Instinct MI210", "AMD Instinct MI210", 181, 1638.4),
        ("AMD Instinct MI250X / MI250", "AMD Instinct MI250X, one of two dies", 191.5, 1638.4),
        ("AMD Instinct MI300X VF", "AMD Instinct MI300X", 1307.4, 5300),
        ("AMD Instinct MI355X", "AMD Instinct MI355X", 2516.6, 8000),
    ],
)
def test_devices_are_found_by_the_names_that_drivers_report(
    name: str, device: str, float16: float, giga_bytes: float
) -> None:
    found = find_limits(name)
    assert found is not None
    assert found.device == device
    assert found.peak("float16") == pytest.approx(float16 * 1e12)
    assert found.bytes_per_s == pytest.approx(giga_bytes * 1e9)
    assert found.source


@pytest.mark.parametrize(
    "name",
    [
        "",
        "AMD Radeon Graphics",
        "NVIDIA A10G",
        "NVIDIA GeForce RTX 4090 Laptop GPU",
        "NVIDIA A100-SXM4-40GB MIG 1g.5gb",
        "GPU 0",
    ],
)
def test_an_unknown_device_has_no_limits(name: str) -> None:
    assert find_limits(name) is None


def test_no_row_of_the_table_hides_a_later_one() -> None:
    for row in DEVICES:
        assert row.source
        assert all(rate > 0 for rate in row.tera.values())
        found = find_limits(row.device)
        # Rows show a name of their own, which need not be a driver's; one that is found must be this row.
        assert found is None or found.device == row.device


def test_a_type_that_the_vendor_does_not_state_has_no_peak() -> None:
    v100 = find_limits("Tesla V100-SXM2-16GB")
    assert v100 is not None
    assert v100.peak("bfloat16") is None
    assert v100.peak("tf32") == v100.peak("float32")


def test_limits_are_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "board.toml"
    file.write_text('device = "board"\nbandwidth = 13e9\nflops = 128e9\n')
    assert load_limits(file) == Limits("board", {"": 128e9}, 13e9, "board.toml")
    file.write_text("[flops]\nfloat16 = 128e9\n")
    found = load_limits(file)
    assert (found.device, found.peak("float16"), found.peak("int8"), found.bytes_per_s) == ("board", 128e9, None, None)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("flops = [", "no TOML"),
        ("speed = 1", "unknown key 'speed'"),
        ("bandwidth = -1", "positive"),
        ("flops = 'fast'", "positive"),
        ("[flops]\nfloat17 = 1e9", "unknown type 'float17'"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused_in_one_line(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "board.toml"
    file.write_text(text)
    with pytest.raises(UsageError, match=words) as raised:
        load_limits(file)
    assert "\n" not in str(raised.value)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        load_limits(tmp_path / "none.toml")


@pytest.mark.parametrize("rate", [-1.0, 0.0, 1e-320, 1e-300, 1e308, float("inf"), float("nan")])
def test_rates_of_no_machine_are_refused(rate: float) -> None:
    with pytest.raises(UsageError, match="is no rate"):
        override(None, peak_flops=rate)


def test_options_override_one_side_and_keep_the_other() -> None:
    table = find_limits("Tesla T4")
    changed = override(table, peak_flops=50e12)
    assert changed is not None
    assert (changed.peak("float16"), changed.bytes_per_s) == (50e12, 320e9)
    assert override(None) is None
    with pytest.raises(UsageError, match="--peak-bandwidth"):
        override(table, peak_bandwidth=0)
