"""Simulate a training loop on one host and one GPU, and write what PyTorch's profiler would have recorded of it.

The program is a small network of linear layers. One host thread loads, runs forward and the optimiser; the backward pass
runs on the autograd thread. `machine` simulates the clocks, so the *truth* about steps and idle time is known exactly.
Run it for a trace of any size::

    python make_cuda.py host-bound trace.json.gz --steps 20 --seed 3 --truth truth.json
"""

import argparse
import gzip
import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import kineto
from machine import AUTOGRAD, COMM, COMPUTE, PROCESS, Machine, idle

_ITEM = {"float": 4, "c10::BFloat16": 2}


@dataclass(frozen=True)
class Scenario:
    """What the program does."""

    name: str
    batch: int
    width: int
    layers: int
    dtype: str
    steps: int
    input_ns: int
    """How long a step waits for its batch."""
    every_step_reads_loss: bool
    graphed_optimizer: bool
    all_reduce: bool
    first_step_allocates: bool
    cuda_sync: bool = True
    """Whether the file has the device's own rows of synchronisation."""
    seed: int = 0


HOST_BOUND = Scenario(
    name="cuda_host_bound",
    batch=64,
    width=256,
    layers=6,
    dtype="float",
    steps=4,
    input_ns=120_000,
    every_step_reads_loss=True,
    graphed_optimizer=True,
    all_reduce=True,
    first_step_allocates=True,
)
HEALTHY = Scenario(
    name="cuda_healthy",
    batch=4096,
    width=4096,
    layers=4,
    dtype="c10::BFloat16",
    steps=6,
    input_ns=150_000,
    every_step_reads_loss=False,
    graphed_optimizer=False,
    all_reduce=False,
    first_step_allocates=False,
)
SCENARIOS = {"host-bound": HOST_BOUND, "healthy": HEALTHY}

_GEMM = "ampere_gemm_128x128_ldg8_stages_32x5_tn"
_ELEMENTWISE = "void at::native::vectorized_elementwise_kernel<4, at::native::{}>(int, at::native::{})"


@dataclass(frozen=True)
class _Node:
    """A forward operator that the backward pass will come back to."""

    name: str
    sequence: int


class _Program:
    """The training loop."""

    def __init__(self, machine: Machine, scenario: Scenario) -> None:
        self.machine, self.scenario, self.sequence = machine, scenario, 0
        size = _ITEM[self.scenario.dtype]
        self.activation = [self.scenario.batch, self.scenario.width]
        self.weight = [self.scenario.width, self.scenario.width]
        self.activation_bytes = size * self.scenario.batch * self.scenario.width
        self.weight_bytes = size * self.scenario.width**2
        self.flops = 2.0 * self.scenario.batch * self.scenario.width**2

    def step(self, number: int) -> None:
        run = self.machine
        with run.annotation(f"ProfilerStep#{number}"):
            run.spend(6_000)
            with run.slice("user_annotation", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", "input"):
                run.spend(self.scenario.input_ns)
            run.spend(5_000)
            with run.operator("aten::to"), run.operator("aten::_to_copy"):
                if number == 1 and self.scenario.first_step_allocates:
                    with run.operator("aten::empty_strided"), run.call("cudaMalloc", "allocator"):
                        run.spend(180_000)
                with run.operator("aten::copy_"):
                    run.copy("HtoD (Pinned -> Device)", 8 * self.scenario.batch)
            run.spend(8_000)
            with run.annotation("forward"):
                run.spend(3_000)
                nodes = self.forward()
            run.hand_over(AUTOGRAD)
            self.backward(nodes)
            run.hand_over(PROCESS)
            self.optimize()
            if self.scenario.every_step_reads_loss:
                run.spend(4_000)
                with run.operator("aten::item"), run.operator("aten::_local_scalar_dense"):
                    run.copy("DtoH (Device -> Pageable)", 4)
                    run.synchronize()
            run.spend(7_000)

    def forward(self) -> list[_Node]:
        run = self.machine
        nodes: list[_Node] = []
        shapes = [self.weight, [self.scenario.batch]]
        with (
            self._recorded("aten::embedding", "EmbeddingBackward0", nodes, shapes),
            run.operator("aten::index_select", shapes),
        ):
            run.kernel("void at::native::indexSelectLargeIndex<long>", size=2 * self.activation_bytes)
        for _ in range(self.scenario.layers):
            run.spend(9_000)
            with run.operator("aten::linear", [self.activation, self.weight, [self.scenario.width]]):
                with run.operator("aten::t", [self.weight]), run.operator("aten::transpose", [self.weight]):
                    pass
                shapes = [[self.scenario.width], self.activation, self.weight]
                with self._recorded("aten::addmm", "AddmmBackward0", nodes, shapes):
                    run.kernel(_GEMM, flops=self.flops, size=2 * self.activation_bytes + self.weight_bytes)
            run.spend(6_000)
            with (
                self._recorded("aten::relu", "ReluBackward0", nodes, [self.activation]),
                run.operator("aten::clamp_min", [self.activation]),
            ):
                run.kernel(_elementwise("clamp_min"), size=2 * self.activation_bytes)
        run.spend(8_000)
        with self._recorded("aten::mse_loss", "MseLossBackward0", nodes, [self.activation, self.activation]):
            run.kernel(_elementwise("mse"), size=3 * self.activation_bytes)
            with run.operator("aten::mean", [self.activation]):
                run.kernel(
                    "void at::native::reduce_kernel<512, 1, at::native::MeanOps<float>>", size=self.activation_bytes
                )
        run.spend(5_000)
        return nodes

    @contextmanager
    def _recorded(self, name: str, backward: str, nodes: list[_Node], shapes: list[list[int]]) -> Iterator[None]:
        run = self.machine
        self.sequence += 1
        nodes.append(_Node(backward, self.sequence))
        with run.operator(name, shapes, {"Fwd thread id": 0, "Sequence number": self.sequence}) as start:
            run.events.append(kineto.arrow("s", "fwdbwd", self.sequence, PROCESS, run.thread, start))
            yield

    def backward(self, nodes: list[_Node]) -> None:
        run = self.machine
        with run.operator("autograd::engine::evaluate_function: torch::autograd::GraphRoot"):
            pass
        for node in reversed(nodes):
            run.spend(500)
            args = {"Fwd thread id": 1, "Sequence number": node.sequence}
            with run.operator(f"autograd::engine::evaluate_function: {node.name}", args=args) as start:
                run.events.append(kineto.arrow("f", "fwdbwd", node.sequence, PROCESS, AUTOGRAD, start))
                with run.operator(node.name, args=args):
                    self._gradient(node)
            if node.name == "AddmmBackward0" and self.scenario.all_reduce:
                run.spend(500)
                run.all_reduce(self.weight_bytes)

    def _gradient(self, node: _Node) -> None:
        run, x, w = self.machine, self.activation, self.weight
        if node.name == "MseLossBackward0":
            with run.operator("aten::mse_loss_backward", [[], x, x]):
                run.kernel(_elementwise("mse_backward"), size=3 * self.activation_bytes)
        elif node.name == "ReluBackward0":
            with run.operator("aten::threshold_backward", [x, x]):
                run.kernel(_elementwise("threshold"), size=3 * self.activation_bytes)
        elif node.name == "AddmmBackward0":
            size = 2 * self.activation_bytes + self.weight_bytes
            with run.operator("aten::mm", [x, w]):
                run.kernel(_GEMM, flops=self.flops, size=size)
            with run.operator("aten::mm", [x[::-1], x]):
                run.kernel(_GEMM.replace("_tn", "_nt"), flops=self.flops, size=size)
            with run.operator("aten::sum", [x]):
                run.kernel(
                    "void at::native::reduce_kernel<128, 4, at::native::sum_functor>", size=self.activation_bytes
                )
        else:
            with run.operator("aten::embedding_dense_backward", [x, [self.scenario.batch]]):
                run.kernel(
                    "void at::native::embedding_backward_feature_kernel<long>",
                    size=self.activation_bytes + self.weight_bytes,
                )

    def optimize(self) -> None:
        run, tensors = self.machine, self.scenario.layers + 1
        with run.annotation("Optimizer.step#SGD.step"):
            run.spend(6_000)
            names = ["void at::native::multi_tensor_apply_kernel<TernaryOpScalarFunctor>"] * tensors
            if self.scenario.all_reduce:
                with run.operator("aten::record_stream"):
                    run.wait_for(COMM, COMPUTE)
                run.spend(2_000)
            with run.operator("aten::_foreach_add_", [self.weight, self.weight]):
                if self.scenario.graphed_optimizer:
                    run.graph(names, size=3 * self.weight_bytes)
                else:
                    run.kernel(names[0], size=3 * self.weight_bytes * tensors)
            run.spend(3_000)


def _elementwise(functor: str) -> str:
    return _ELEMENTWISE.format(functor, functor)


def simulate(scenario: Scenario) -> tuple[bytes, dict[str, Any]]:
    """Return the trace file and the truth about it; times in ns from the start of the trace."""
    run = Machine(scenario.dtype, scenario.cuda_sync, random.Random(scenario.seed))
    program, steps = _Program(run, scenario), []
    for number in range(1, scenario.steps + 1):
        start, first = run.clock, len(run.work)
        program.step(number)
        steps.append(
            {
                "number": number,
                "start_ns": start,
                "end_ns": run.clock,
                "device_end_ns": max(w.end for w in run.work[first:]),
            }
        )
        run.spend(30_000)
    run.synchronize_device()
    end = run.clock + 150_000
    window = {"start_ns": steps[0]["start_ns"], "end_ns": max(steps[-1]["end_ns"], steps[-1]["device_end_ns"])}
    truth = {"window": window, "steps": steps, "device_slices": len(run.work), "device": idle(run, **window)}

    streams = sorted({one.stream for one in run.work})
    names = [
        *kineto.process(
            PROCESS, "CPU", {PROCESS: f"thread {PROCESS} (python)", AUTOGRAD: f"thread {AUTOGRAD} (pt_autograd_0)"}
        ),
        *kineto.process(0, "GPU 0", {stream: f"stream {stream} " for stream in streams}),
    ]
    header = {
        "deviceProperties": [kineto.A100],
        "cuda_runtime_version": 12060,
        "cuda_driver_version": 12060,
        "record_shapes": 1,
    }
    if scenario.all_reduce:
        header["distributedInfo"] = {"backend": "nccl", "rank": 0, "world_size": 2, "pg_count": 1}
    return kineto.document([*names, *run.events], end=end, name=f"{scenario.name}.json", header=header), truth


def main() -> None:
    """Write a trace."""
    parser = argparse.ArgumentParser(description="Simulate a training loop and write its trace.")
    parser.add_argument("scenario", choices=sorted(SCENARIOS))
    parser.add_argument("output", type=Path, help="file to write; .gz is compressed")
    parser.add_argument("--steps", type=int, help="how many steps")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-cuda-sync", action="store_true", help="leave the device's synchronisation rows out")
    parser.add_argument("--truth", type=Path, help="also write what the simulation knows, as JSON")
    asked = parser.parse_args()
    scenario = SCENARIOS[asked.scenario]
    scenario = replace(scenario, steps=asked.steps or scenario.steps, seed=asked.seed, cuda_sync=not asked.no_cuda_sync)
    data, truth = simulate(scenario)
    asked.output.write_bytes(gzip.compress(data, mtime=0) if asked.output.suffix == ".gz" else data)
    if asked.truth:
        asked.truth.write_text(json.dumps(truth, indent=1) + "\n")


if __name__ == "__main__":
    main()
