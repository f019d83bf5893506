"""Record a small CNN in training on the CPU with PyTorch: once with shapes, once with memory.

Needs torch (recorded with 2.13.0). Times differ from run to run; the files in this folder are one run.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import torch
from scrub import scrubbed
from torch import nn
from torch.profiler import ProfilerActivity, profile, record_function, schedule
from torch.utils.data import DataLoader, TensorDataset


def batches(count: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Give `count` random batches of 16 images of 32 × 32, through a data loader."""
    images, labels = torch.randn(16 * count, 3, 32, 32), torch.randint(10, (16 * count,))
    return iter(DataLoader(TensorDataset(images, labels), batch_size=16))


def network() -> nn.Module:
    """Return a network of two convolutions and two linear layers."""
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(4),
        nn.Flatten(),
        nn.Linear(512, 64),
        nn.ReLU(),
        nn.Linear(64, 10),
    )


def record(name: str, *, active: int, with_memory: bool) -> None:
    """Train for some steps under the profiler and write the trace beside this file."""
    torch.manual_seed(0)
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    with profile(
        activities=[ProfilerActivity.CPU],
        schedule=schedule(wait=1, warmup=1, active=active),
        record_shapes=True,
        profile_memory=with_memory,
    ) as profiler:
        data = batches(active + 2)
        for _ in range(active + 2):
            images, labels = next(data)
            with record_function("forward"):
                loss = nn.functional.cross_entropy(model(images), labels)
            with record_function("backward"):
                optimizer.zero_grad()
                loss.backward()
            optimizer.step()
            profiler.step()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(path))
        (Path(__file__).parent / name).write_bytes(scrubbed(path.read_bytes()))


if __name__ == "__main__":
    torch.set_num_threads(1)
    record("torch_cnn_train.json.gz", active=4, with_memory=False)
    record("torch_cnn_memory.json.gz", active=2, with_memory=True)
