"""Output of perf stat, in both machine formats."""

import pytest

from tracegap.costs.counters import derive, read_counters, vectorised
from tracegap.costs.diagnosis import Branch, diagnose
from tracegap.costs.limits import Limits
from tracegap.errors import UsageError

CSV = """# started on Mon Jan  6 10:00:00 2025

1960000000,,cycles:u,980000000,100.00,,
2352000000,,instructions:u,980000000,100.00,1.20,insn per cycle
21000000,,LLC-load-misses,980000000,100.00,,
"""


def test_a_depthwise_convolution_that_was_not_vectorised() -> None:
    flops = 200 * 2 * 64 * 112 * 112 * 9
    found = derive(read_counters(CSV), duration_ns=980_000_000, flops=flops)
    assert found.instructions_per_cycle == pytest.approx(1.2)
    assert found.flops_per_s == pytest.approx(2.95e9, rel=0.001)
    assert found.bytes_per_s == pytest.approx(1.37e9, rel=0.002)
    assert found.flops_per_instruction == pytest.approx(1.23, abs=0.005)
    # Under 3 of the 4 FLOPs that 128 bits of float32 hold.
    assert vectorised(found) is False

    thread = Limits("one thread", {"": 32e9}, 6e9, "example")
    placed = diagnose(found.flops, found.bytes, 980_000_000, thread, "float32")
    assert placed.branch is Branch.LATENCY
    assert placed.f_b == pytest.approx(0.23, abs=0.005)


def test_json_lines_say_the_same() -> None:
    text = """{"counter-value" : "1960000000.000000", "unit" : "", "event" : "cpu_core/cycles/", "event-runtime" : 980000000, "pcnt-running" : 100.00}
{"counter-value" : "2352000000.000000", "unit" : "", "event" : "instructions", "event-runtime" : 980000000, "pcnt-running" : 100.00}
{"counter-value" : "980000000", "unit" : "ns", "event" : "duration_time", "event-runtime" : 980000000, "pcnt-running" : 100.00}
"""
    counters = read_counters(text)
    assert counters.duration_ns == 980_000_000
    assert derive(counters).instructions_per_cycle == pytest.approx(1.2)
    assert derive(counters).bytes is None


def test_an_event_that_shared_its_counter_is_warned_about() -> None:
    counters = read_counters("1000,,cycles,500,89.90,,\n2000,,instructions,500,90.00,,\n")
    assert [warning.split()[0] for warning in counters.warnings] == ["cycles"]


def test_an_event_the_machine_lacks_is_absent_and_named() -> None:
    counters = read_counters("1000,,cycles,500,100.00,,\n<not supported>,,LLC-load-misses,0,100.00,,\n")
    assert "LLC-load-misses" not in counters.values
    assert counters.warnings == ("LLC-load-misses was not counted on this machine.",)
    assert derive(counters, duration_ns=1).bytes_per_s is None


def test_rows_by_interval_and_by_core_are_added_up() -> None:
    intervals = "1.000100,500,,cycles,100,100.00,,\n2.000200,700,,cycles,100,100.00,,\n"
    assert read_counters(intervals).values == {"cycles": 1200.0}
    cores = "CPU0,500,,cycles,100,100.00,,\nCPU1,700,,cycles,100,100.00,,\n"
    assert read_counters(cores).values == {"cycles": 1200.0}
    grouped = "S0-D0-C0,2,500,,cycles,100,100.00,,\nS0-D0-C1,2,700,,cycles,100,100.00,,\n"
    assert read_counters(grouped).values == {"cycles": 1200.0}


def test_units_between_value_and_event_are_passed_over() -> None:
    assert read_counters("980.5,msec,task-clock,980500000,100.00,1.0,CPUs utilized").values == {"task-clock": 980.5}


def test_arithmetic_is_counted_by_vector_width() -> None:
    text = "100,,fp_arith_inst_retired.scalar_single,1,100.00,,\n100,,fp_arith_inst_retired.256b_packed_single,1,100.00,,\n"
    assert derive(read_counters(text)).flops == 900


def test_a_file_without_counters_is_refused() -> None:
    with pytest.raises(UsageError, match="perf stat"):
        read_counters("hello, world\n")
