"""Record a small network in training with JAX on the CPU.

Needs jax (recorded with 0.10.2). Times differ from run to run; the file here is one run.
"""

import gzip
import tempfile
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from scrub import scrubbed


def loss(weights: list[Any], inputs: Any, targets: Any) -> Any:
    """Return the mean squared error of a network of two layers."""
    hidden = jax.nn.relu(inputs @ weights[0])
    return jnp.mean((hidden @ weights[1] - targets) ** 2)


@jax.jit
def train_step(weights: list[Any], inputs: Any, targets: Any) -> list[Any]:
    """Return the weights after a step down the gradient."""
    gradients = jax.grad(loss)(weights, inputs, targets)
    return [weight - 0.01 * gradient for weight, gradient in zip(weights, gradients, strict=True)]


def main() -> None:
    """Train for five steps under the profiler and write the trace beside this file."""
    keys = jax.random.split(jax.random.key(0), 4)
    weights = [jax.random.normal(keys[0], (256, 512)), jax.random.normal(keys[1], (512, 64))]
    inputs, targets = jax.random.normal(keys[2], (128, 256)), jax.random.normal(keys[3], (128, 64))
    # Compile both before recording.
    weights = jax.block_until_ready(train_step(weights, inputs * 1.0, targets))
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            for number in range(5):
                with jax.profiler.StepTraceAnnotation("train", step_num=number):
                    with jax.profiler.TraceAnnotation("load_data"):
                        batch = jax.block_until_ready(inputs * 1.0)
                    weights = jax.block_until_ready(train_step(weights, batch, targets))
        (path,) = Path(folder).rglob("*.trace.json.gz")
        trace = gzip.decompress(path.read_bytes())
    (Path(__file__).parent / "jax_train.json.gz").write_bytes(scrubbed(trace))


if __name__ == "__main__":
    main()
