"""What the names and categories of Kineto traces mean, one name at a time."""

import re
from enum import IntEnum

from tracegap.kinds import Kind


class Source(IntEnum):
    """Who wrote a row, told by its category, else by its process."""

    UNKNOWN = 0
    OPERATOR = 1
    ANNOTATION = 2
    FRAME = 3
    RUNTIME = 4
    DEVICE = 5
    DEVICE_COPY = 6
    DEVICE_COMM = 7
    DEVICE_SYNC = 8
    DEVICE_ANNOTATION = 9
    PROFILER = 10
    NOTHING = 11


# libkineto, ActivityType.cpp, and the names it used before 2022
CATEGORIES: dict[str, Source] = {
    "cpu_op": Source.OPERATOR,
    "Operator": Source.OPERATOR,
    "hpu_op": Source.DEVICE,
    "user_annotation": Source.ANNOTATION,
    "python_function": Source.FRAME,
    "cuda_runtime": Source.RUNTIME,
    "Runtime": Source.RUNTIME,
    "cuda_driver": Source.RUNTIME,
    "glow_runtime": Source.RUNTIME,
    "mtia_runtime": Source.RUNTIME,
    "xpu_runtime": Source.RUNTIME,
    "xpu_driver": Source.RUNTIME,
    "privateuse1_runtime": Source.RUNTIME,
    "privateuse1_driver": Source.RUNTIME,
    "enqueue": Source.RUNTIME,
    "dequeue": Source.RUNTIME,
    "kernel": Source.DEVICE,
    "Kernel": Source.DEVICE,
    "mtia_ccp_events": Source.DEVICE,
    "mtia_workloadd": Source.DEVICE,
    "cuda_profiler_range": Source.DEVICE,
    "gpu_memcpy": Source.DEVICE_COPY,
    "gpu_memset": Source.DEVICE_COPY,
    "Memcpy": Source.DEVICE_COPY,
    "Memset": Source.DEVICE_COPY,
    "collective_comm": Source.DEVICE_COMM,
    "cuda_sync": Source.DEVICE_SYNC,
    "cuda_event": Source.DEVICE_SYNC,
    "gpu_user_annotation": Source.DEVICE_ANNOTATION,
    "overhead": Source.PROFILER,
    "Trace": Source.NOTHING,
    "external_correlation": Source.NOTHING,
    "cpu_instant_event": Source.NOTHING,
    "mtia_insight": Source.NOTHING,
    "mtia_counters": Source.NOTHING,
}

STEP = re.compile(r"ProfilerStep\s*#\s*(\d+)")

_INPUT = ("enumerate(DataLoader)#", "enumerate(DataPipe)#")
_RANGES = re.compile(r"Optimizer\.(step|zero_grad)#|DistributedDataParallel\.|FullyShardedDataParallel\.|## ")

# Calls that return when the device is done. cudaFree and the pinned allocators wait for the device as well
# (CUDA C++ Programming Guide, "Implicit Synchronization"); the Async forms do not.
_BLOCKING = re.compile(
    r"""
    \w*Synchronize(_\w+)?$                                         # cudaDeviceSynchronize, hipStreamSynchronize, cuCtxSynchronize
    | (AscendCL@)?aclrtSynchronize\w* | (AscendCL@)?aclrtMemcpy$
    | (cuda|hip)Memcpy(2D|3D)?(To|From)?(Symbol|Array\w*)?(WithStream)?(_\w+)?$
    | (cu|hip)Memcpy(2D|3D)?((HtoD|DtoH|DtoD|HtoA|AtoH|DtoA|AtoD|AtoA)|Unaligned)?(_v\d+)?(_\w+)?$
    | (cuda|hip)(Free(Host|Array|MipmappedArray)?|HostFree|HostAlloc|MallocHost|HostMalloc|HostRegister|HostUnregister)$
    | cuMem(Free|FreeHost|HostAlloc|AllocHost|HostRegister|HostUnregister)(_v\d+)?$
    | (xpu|ze|sycl|mtia)\w*(Synchronize|Wait)$ | urQueueFinish$ | urEventWait$ | ze\w+HostSynchronize$
    """,
    re.VERBOSE,
)

# Kernels that move data between devices for a collective; hip* says nothing (hipBLASLt is arithmetic).
_COMMUNICATION = re.compile(
    r"""
    ^nccl | ^\(anonymous\ namespace\)::nccl | ncclKernel | ncclDevKernel | rccl | msccl | hccl | ^hcom_ | oneccl
    | nvshmem | rocshmem | deep_?ep:: | ::(inter|intra)node(_ll)?::
    | cross_device_reduce | custom_?all_?(reduce|gather) | quick_?(all_?)?reduce | multimem_\w*(reduce|gather|broadcast)
    | (one|two)_?shot_?\w*(all_?|reduce_?)(reduce|scatter|gather) | (?<!warp_)(?<!block_)(?<![a-z])all[-_]?reduce
    | (?<![a-z])all[-_]?gather | reduce[-_]?scatter | (?<![a-z])all[-_]?to[-_]?all | alltoallv? | send_?recv
    | ^collective-permute | ^(send|recv)(-done)?(\.\d+)?$          # these as XLA calls them
    """,
    re.VERBOSE | re.IGNORECASE,
)
# Inductor names a fused kernel by the operators in it, collectives it only reads from included.
_FUSED = re.compile(r"triton_[a-z]+_fused_")
_COPY = re.compile(
    r"Memcpy|Memset|MEMCPY|MEMSET|Copy(Device|Host)To(Device|Host)|dma_request|(copy(-start|-done)?|infeed|outfeed)(\.\d+)?$"
)


def host_kind(name: str, kind: Kind = Kind.OP) -> Kind:
    """Return the kind of a host range; `kind` is what its category says."""
    if STEP.match(name):
        return Kind.STEP
    if name.startswith(_INPUT):
        return Kind.INPUT
    if name.startswith("gloo:"):
        return Kind.OTHER
    if name.startswith("profiler::_record_function"):
        return Kind.PROFILER
    return Kind.ANNOTATION if _RANGES.match(name) else kind


def runtime_kind(name: str) -> Kind:
    """Return the kind of a host API call.

    Examples
    --------
    >>> [runtime_kind(name).name for name in ("cudaMemcpy", "cudaMemcpyAsync", "hipStreamSynchronize", "cudaFree")]
    ['SYNC', 'RUNTIME', 'SYNC', 'SYNC']
    """
    return Kind.SYNC if _BLOCKING.match(name) else Kind.RUNTIME


def device_kind(name: str) -> Kind:
    """Return the kind of a device row that its category calls a kernel.

    Examples
    --------
    >>> [device_kind(name).name for name in ("ncclDevKernel_AllReduce_Sum_f32", "hipblasltGemm", "Memset (Device)")]
    ['COMM', 'KERNEL', 'COPY']
    """
    if _COMMUNICATION.search(name) and not _FUSED.match(name):
        return Kind.COMM
    return Kind.COPY if _COPY.match(name) else Kind.KERNEL


def kind(source: Source, name: str) -> Kind:
    """Return the kind of a row, from who wrote it and its name."""
    match source:
        case Source.OPERATOR | Source.UNKNOWN:
            return host_kind(name)
        case Source.ANNOTATION:
            return host_kind(name, Kind.ANNOTATION)
        case Source.RUNTIME:
            return runtime_kind(name)
        case Source.DEVICE:
            return device_kind(name)
    return _BY_SOURCE[source]


_BY_SOURCE: dict[Source, Kind] = {
    Source.FRAME: Kind.FRAME,
    Source.DEVICE_COPY: Kind.COPY,
    Source.DEVICE_COMM: Kind.COMM,
    Source.DEVICE_SYNC: Kind.WAIT,
    Source.DEVICE_ANNOTATION: Kind.ANNOTATION,
    Source.PROFILER: Kind.PROFILER,
    Source.NOTHING: Kind.NONE,
}
