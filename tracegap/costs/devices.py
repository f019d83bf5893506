"""Peaks of devices as their vendors state them, without sparsity; data only, found by `tracegap.costs.limits`.

One row a device as a trace shows it: for AMD's MI250 family that is one of the two dies on the card. Matrix units count
where frameworks use them: ``float32`` is the plain single-precision rate (on AMD's, that of the matrix cores), ``tf32`` the one
of NVIDIA's tensor cores; GeForce rows have the rate with float32 accumulation, which is what frameworks ask for. Rates in
TFLOP/s (TOP/s for whole numbers), bandwidth in GB/s.
"""

from typing import NamedTuple


class Row(NamedTuple):
    """A device: name to show, pattern that finds it in a lower-case name, peaks, bandwidth (None where not stated), source."""

    device: str
    pattern: str
    tera: dict[str, float]
    giga_bytes: float | None
    source: str


def _n(
    fp32: float, *, fp64: float = 0, tf32: float = 0, fp16: float = 0, bf16: float = 0, fp8: float = 0, int8: float = 0
) -> dict[str, float]:
    rates = {
        "float64": fp64,
        "float32": fp32,
        "tf32": tf32,
        "float16": fp16,
        "bfloat16": bf16,
        "float8": fp8,
        "int8": int8,
    }
    return {dtype: rate for dtype, rate in rates.items() if rate}


_A100 = _n(19.5, fp64=19.5, tf32=156, fp16=312, bf16=312, int8=624)
_H100 = _n(66.9, fp64=66.9, tf32=494.7, fp16=989.4, bf16=989.4, fp8=1978.9, int8=1978.9)
_NVL = _n(60, fp64=60, tf32=417.5, fp16=835.5, bf16=835.5, fp8=1670.5, int8=1670.5)
_MI300X = _n(163.4, fp64=163.4, tf32=653.7, fp16=1307.4, bf16=1307.4, fp8=2614.9, int8=2614.9)

# The first row that matches counts: special forms stand before general ones.
# One row a line, to be compared with a data sheet by eye.
# fmt: off
DEVICES: tuple[Row, ...] = (
    # NVIDIA
    Row("NVIDIA P100 PCIe 16 GB", r"p100-pcie-16gb", _n(9.3, fp64=4.7, fp16=18.7), 732, "NVIDIA Tesla P100 PCIe data sheet, 2016"),
    Row("NVIDIA P100 SXM2", r"p100-sxm2", _n(10.6, fp64=5.3, fp16=21.2), 732, "NVIDIA Tesla P100 white paper, 2016"),
    Row("NVIDIA Quadro GP100", r"quadro gp100", _n(10.3, fp64=5.2, fp16=20.7), 717, "NVIDIA Quadro GP100 data sheet, 2017"),
    Row("NVIDIA V100S PCIe", r"v100s", _n(16.4, fp64=8.2, fp16=130), 1134, "NVIDIA V100 data sheet, 2020"),
    Row("NVIDIA V100 PCIe", r"v100-pcie", _n(14, fp64=7, fp16=112), 900, "NVIDIA V100 data sheet, 2020"),
    Row("NVIDIA V100 SXM2", r"v100-(sxm2|sxm3|dgxs)", _n(15.7, fp64=7.8, fp16=125), 900, "NVIDIA V100 data sheet, 2020"),
    Row("NVIDIA T4", r"\bt4\b", _n(8.1, fp16=65, int8=130), 320, "NVIDIA T4 data sheet, 2019"),
    Row("NVIDIA A10", r"\ba10\b", _n(31.2, tf32=62.5, fp16=125, bf16=125, int8=250), 600, "NVIDIA A10 data sheet, 2021"),
    Row("NVIDIA A30", r"\ba30\b", _n(10.3, fp64=10.3, tf32=82, fp16=165, bf16=165, int8=330), 933, "NVIDIA A30 data sheet, 2021"),
    Row("NVIDIA A40", r"\ba40\b", _n(37.4, tf32=74.8, fp16=149.7, bf16=149.7, int8=299.3), 696, "NVIDIA A40 data sheet, 2021"),
    Row("NVIDIA A100 80 GB PCIe", r"\ba[18]00 80gb pcie|\ba[18]00-pcie-80gb", _A100, 1935, "NVIDIA A100 data sheet, 2021"),
    Row("NVIDIA A100 80 GB SXM", r"\ba[18]00-sxm4?-80gb", _A100, 2039, "NVIDIA A100 data sheet, 2021"),
    # PG509 is the board of the 40 GB SXM module, under which some clouds' A100 report themselves.
    Row("NVIDIA A100 40 GB", r"\ba100-(sxm4?|pcie)-40gb|\ba100-pg509", _A100, 1555, "NVIDIA A100 data sheet, 2020"),
    Row("NVIDIA L4", r"\bl4\b", _n(30.3, tf32=60, fp16=121, bf16=121, fp8=242.5, int8=242.5), 300, "NVIDIA L4 data sheet, 2023"),
    Row("NVIDIA L40S", r"\bl40s\b", _n(91.6, tf32=183, fp16=362.05, bf16=362.05, fp8=733, int8=733), 864, "NVIDIA L40S data sheet, 2023"),
    Row("NVIDIA L40", r"\bl40\b", _n(90.5, tf32=90.5, fp16=181.05, bf16=181.05, fp8=362, int8=362), 864, "NVIDIA L40 data sheet, 2022"),
    Row("NVIDIA RTX A6000", r"rtx a6000", _n(38.7, tf32=77.4, fp16=154.8, bf16=154.8, int8=309.7), 768, "NVIDIA RTX A6000 data sheet, 2020"),
    Row("NVIDIA GeForce RTX 2080 Ti", r"rtx 2080 ti", _n(14.2, fp16=56.9, int8=227.7), 616, "NVIDIA Turing white paper, 2018 (Founders Edition)"),
    Row("NVIDIA GeForce RTX 3090", r"rtx 3090$", _n(35.6, tf32=35.6, fp16=71, bf16=71, int8=284), 936, "NVIDIA Ampere GA102 white paper, 2020"),
    Row("NVIDIA GeForce RTX 4090", r"rtx 4090$", _n(82.6, tf32=82.6, fp16=165.2, bf16=165.2, fp8=330.3, int8=660.6), 1008, "NVIDIA Ada white paper, 2022"),
    Row("NVIDIA GeForce RTX 5090", r"rtx 5090$", _n(104.8, tf32=104.8, fp16=209.5, bf16=209.5, fp8=419, int8=838), 1792, "NVIDIA RTX Blackwell white paper, 2025"),
    Row("NVIDIA H100 PCIe", r"\bh100 pcie", _n(51.2, fp64=51.2, tf32=378, fp16=756, bf16=756, fp8=1513, int8=1513), 2039, "NVIDIA H100 data sheet, 2022"),
    Row("NVIDIA H100 NVL", r"\bh100 nvl", _NVL, 3938, "NVIDIA H100 data sheet, 2024"),
    Row("NVIDIA H100 SXM", r"\bh100( 80gb hbm3|-sxm5)", _H100, 3352, "NVIDIA H100 data sheet, 2023"),
    # Double precision is cut down in the H800; the other rates are the H100's.
    Row("NVIDIA H800 SXM", r"\bh800$", {**_H100, "float64": 1.0}, 3352, "Lenovo ThinkSystem NVIDIA H800 product guide, 2023"),
    Row("NVIDIA H200 NVL", r"\bh200 nvl", _NVL, 4800, "NVIDIA H200 data sheet, 2024"),
    Row("NVIDIA H200", r"\bh200\b", _H100, 4800, "NVIDIA H200 data sheet, 2024"),
    Row("NVIDIA GH200 144 GB", r"\bgh200 144g", _H100, 4900, "NVIDIA GH200 data sheet, 2024"),
    Row("NVIDIA GH200 96 GB", r"\bgh200 (480gb|96g|120gb)", _H100, 4000, "NVIDIA GH200 data sheet, 2023"),
    Row("NVIDIA B100", r"\bb100\b", _n(60, fp64=30, tf32=900, fp16=1750, bf16=1750, fp8=3500, int8=3500), 8000, "NVIDIA Blackwell architecture brief, 2024"),
    Row("NVIDIA GB200", r"\bgb200\b", _n(80, fp64=40, tf32=1250, fp16=2500, bf16=2500, fp8=5000, int8=5000), 8000, "NVIDIA GB200 NVL72 data sheet, 2024"),
    Row("NVIDIA B200", r"\bb200\b", _n(75, fp64=37, tf32=1100, fp16=2250, bf16=2250, fp8=4500, int8=4500), 7700, "NVIDIA HGX B200 data sheet, 2025"),
    # AMD
    Row("AMD Instinct MI100", r"\bmi100\b", _n(46.1, fp64=11.5, fp16=184.6, bf16=92.3, int8=184.6), 1228.8, "AMD Instinct MI100 data sheet, 2020"),
    Row("AMD Instinct MI210", r"\bmi210\b", _n(45.3, fp64=45.3, fp16=181, bf16=181, int8=181), 1638.4, "AMD Instinct MI210 data sheet, 2022"),
    Row("AMD Instinct MI250X, one of two dies", r"\bmi250x", _n(47.85, fp64=47.85, fp16=191.5, bf16=191.5, int8=191.5), 1638.4, "AMD Instinct MI250X data sheet, 2021 (halved)"),
    Row("AMD Instinct MI250, one of two dies", r"\bmi250\b", _n(45.25, fp64=45.25, fp16=181.05, bf16=181.05, int8=181.05), 1638.4, "AMD Instinct MI250 data sheet, 2021 (halved)"),
    Row("AMD Instinct MI300A", r"\bmi300a\b", _n(122.6, fp64=122.6, tf32=490.3, fp16=980.6, bf16=980.6, fp8=1961.2, int8=1961.2), 5300, "AMD Instinct MI300A data sheet, 2023"),
    Row("AMD Instinct MI300X", r"\bmi300x", _MI300X, 5300, "AMD Instinct MI300X data sheet, 2023"),
    Row("AMD Instinct MI325X", r"\bmi325x", _MI300X, 6000, "AMD Instinct MI325X data sheet, 2024"),
    Row("AMD Instinct MI350X", r"\bmi350x", _n(144.2, fp64=72.1, fp16=2306.9, bf16=2306.9, fp8=4613.7, int8=4613.7), 8000, "AMD Instinct MI350X data sheet, 2025"),
    Row("AMD Instinct MI355X", r"\bmi355x", _n(157.3, fp64=78.6, fp16=2516.6, bf16=2516.6, fp8=5033.2, int8=5033.2), 8000, "AMD Instinct MI355X data sheet, 2025"),
    # Apple states single precision only, and for the M3 family no rate at all.
    Row("Apple M1 Ultra", r"apple m1 ultra", _n(21), 800, "Apple press release, March 2022"),
    Row("Apple M1 Max, 32 GPU cores", r"apple m1 max", _n(10.4), 400, "Apple press release, October 2021"),
    Row("Apple M1 Pro, 16 GPU cores", r"apple m1 pro", _n(5.2), 200, "Apple press release, October 2021"),
    Row("Apple M1, 8 GPU cores", r"apple m1$", _n(2.6), 68.25, "Apple press release, November 2020"),
    Row("Apple M2 Max, 38 GPU cores", r"apple m2 max", _n(13.6), 400, "Apple press release, January 2023"),
    Row("Apple M2 Pro, 19 GPU cores", r"apple m2 pro", _n(6.8), 200, "Apple press release, January 2023"),
    Row("Apple M2 Ultra, 76 GPU cores", r"apple m2 ultra", _n(27.2), 800, "Apple press release, June 2023"),
    Row("Apple M2, 10 GPU cores", r"apple m2$", _n(3.6), 100, "Apple press release, June 2022"),
    Row("Apple M3 Pro", r"apple m3 pro", {}, 150, "Apple technical specifications, 2023"),
    Row("Apple M3", r"apple m3$", {}, 100, "Apple technical specifications, 2023"),
    # Intel
    # Of the Max 1550 a trace shows the card or one of its two stacks under one name, so it has no row.
    Row("Intel Data Center GPU Max 1100", r"gpu max 1100", _n(22.2, fp64=22.2, tf32=177.8, fp16=355.5, bf16=355.5, int8=711), 1228.8, "Intel oneAPI GPU optimization guide: operations a clock and core, at 56 cores and 1.55 GHz"),
    Row("Intel Gaudi 2", r"gaudi ?2|\bhl-225", {"bfloat16": 432.0, "float8": 865.0}, 2450, "Intel Gaudi 2 white paper, 2024"),
    Row("Intel Gaudi 3", r"gaudi ?3|\bhl-325", {"bfloat16": 1835.0, "float8": 1835.0}, 3700, "Intel Gaudi 3 white paper, 2024"),
    # Google
    Row("Google TPU v2 chip", r"tpu v2\b", {"bfloat16": 46.0}, 700, "Google Cloud TPU v2 system architecture page"),
    Row("Google TPU v3 chip", r"tpu v3\b", {"bfloat16": 123.0}, 900, "Google Cloud TPU v3 system architecture page"),
    Row("Google TPU v4 chip", r"tpu v4\b", {"bfloat16": 275.0, "int8": 275.0}, 1228, "Google Cloud TPU v4 system architecture page"),
    Row("Google TPU v5e", r"tpu v5( ?lite|e)", {"bfloat16": 197.0, "int8": 393.0}, 819, "Google Cloud TPU v5e system architecture page"),
    Row("Google TPU v5p", r"tpu v5p?\b", {"bfloat16": 459.0, "int8": 918.0}, 2765, "Google Cloud TPU v5p system architecture page"),
    Row("Google TPU v6e", r"tpu v6( ?lite|e)", {"bfloat16": 918.0, "int8": 1836.0}, 1640, "Google Cloud TPU v6e system architecture page"),
)
# fmt: on
