"""Write every generated sample beside this file. The same code gives the same bytes."""

import gzip
from collections.abc import Callable
from pathlib import Path

import make_cuda
import make_frames
import make_toys

SAMPLES: dict[str, Callable[[], bytes]] = {
    "toy_sequential.json": make_toys.sequential,
    "toy_pipelined.json": make_toys.pipelined,
    "toy_fused.json": make_toys.fused,
    "frame.json": make_frames.frame,
    "segmentation.json": make_frames.segmentation,
    "detector.json": make_frames.detector,
    "cuda_host_bound.json.gz": lambda: make_cuda.simulate(make_cuda.HOST_BOUND)[0],
    "cuda_healthy.json.gz": lambda: make_cuda.simulate(make_cuda.HEALTHY)[0],
}


def main() -> None:
    """Write all files."""
    folder = Path(__file__).parent
    for name, make in SAMPLES.items():
        data = make()
        (folder / name).write_bytes(gzip.compress(data, mtime=0) if name.endswith(".gz") else data)


if __name__ == "__main__":
    main()
