"""Bandwidth of collectives from message size and group, by the conventions of nccl-tests (doc/PERFORMANCE.md).

Algorithm bandwidth is S ÷ t, with S the whole buffer: what all-gather ends with, what reduce-scatter starts from. Bus
bandwidth multiplies it by what the busiest link must carry of S, so that it can be compared with the link's own rate whatever
the number of ranks.
"""

from dataclasses import dataclass

from tracegap.costs import dtypes as types

# Spellings of PyTorch ("Collective name" of record_param_comms, nccl:… and gloo:… ranges), of kernels and of MPI.
_WORDS: tuple[tuple[str, str], ...] = (
    ("reducescatter", "reduce_scatter"),
    ("allreduce", "all_reduce"),
    ("allgather", "all_gather"),
    ("alltoall", "all_to_all"),
    ("broadcast", "broadcast"),
    ("sendrecv", "send_recv"),
    ("send", "send_recv"),
    ("recv", "send_recv"),
    ("gather", "gather"),
    ("scatter", "scatter"),
    ("reduce", "reduce"),
)


@dataclass(frozen=True, slots=True)
class Bandwidth:
    """Bytes a second of one collective; `bus_bytes_per_s` is None where the group's size is not known."""

    algorithm_bytes_per_s: float
    bus_bytes_per_s: float | None


def collective(name: str) -> str | None:
    """Return the word for a collective as traces and kernels spell it; None for what is none.

    Examples
    --------
    >>> [collective(name) for name in ("nccl:_all_gather_base", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "reduce_scatter_tensor")]
    ['all_gather', 'all_reduce', 'reduce_scatter']
    >>> collective("aten::mm") is None
    True
    """
    plain = name.lower().replace("_", "").replace("-", "")
    if not any(sign in plain for sign in ("nccl", "rccl", "gloo", "mpi", "c10d", "oneccl")) and plain not in _PLAIN:
        plain = plain if any(plain.startswith(spelling) for spelling, _ in _WORDS) else ""
    return next((word for spelling, word in _WORDS if spelling in plain), None)


_PLAIN = frozenset(spelling for spelling, _ in _WORDS)


def message_bytes(word: str, in_elements: int, out_elements: int, dtype: str) -> int | None:
    """Return S, the size of the whole buffer: the larger of what goes in and comes out; None for an unknown type.

    `dtype` is as NCCL rows spell it (``BFloat16``) or a word of `tracegap.costs.dtypes`. Negative counts are absent ones.

    Examples
    --------
    >>> message_bytes("all_gather", 1024, 8192, "BFloat16")
    16384
    """
    one = types.SIZES.get(types.of_text(dtype))
    elements = max(in_elements, out_elements)
    return None if one is None or elements < 0 or collective(word) is None else elements * one


def bus_factor(word: str, ranks: int) -> float | None:
    """Return what the busiest link carries of S: 2(n−1)/n for all-reduce, (n−1)/n for those that scatter or gather, else 1.

    Examples
    --------
    >>> bus_factor("all_reduce", 8), bus_factor("all_gather", 8), bus_factor("broadcast", 8)
    (1.75, 0.875, 1.0)
    """
    if ranks < 1:
        return None
    if word == "all_reduce":
        return 2 * (ranks - 1) / ranks
    if word in ("all_gather", "reduce_scatter", "all_to_all", "gather", "scatter"):
        return (ranks - 1) / ranks
    return 1.0 if word in ("broadcast", "reduce", "send_recv") else None


def bandwidth(word: str, message: int, duration_ns: int, ranks: int | None) -> Bandwidth | None:
    """Return algorithm and bus bandwidth of a collective of `message` bytes; None where no time passed.

    Examples
    --------
    >>> bandwidth("all_reduce", 1_000_000_000, 10_000_000, 8)
    Bandwidth(algorithm_bytes_per_s=100000000000.0, bus_bytes_per_s=175000000000.0)
    """
    if duration_ns <= 0 or message < 0:
        return None
    algorithm = message * 1e9 / duration_ns
    factor = bus_factor(word, ranks) if ranks else None
    return Bandwidth(algorithm, None if factor is None else algorithm * factor)
