"""What API calls do, told by their names: the one rule for calls that manage memory.

What waits for a device is told by the dialect (`Kind.SYNC`), these calls among them: ``cudaFree`` returns when the device is
done. On the critical path such a wait is the device's; what no wait explains is charged to the allocator.
"""

import re

# The APIs of CUDA, HIP, MUSA, CANN, Level Zero and Unified Runtime, and of their drivers (cu, hip): plain memory, pinned memory,
# pools, virtual memory. MemSet and MemcpyAsync touch memory and manage none.
_MEMORY = re.compile(
    r"""
    (\w+@)? (cuda|hip|cu|musa|aclrt|acl|ze|urUSM|ur)_? (Ext)? (Mem)?
    (
        Malloc | Alloc(?!ator) | Free | (Host|Device|Shared)(Alloc|Malloc|Free) | Host(Register|Unregister)
        | (?<=Mem)(Create|Map|Unmap|Release|Retain|AddressReserve|AddressFree|Import|PoolTrim)
    )
    """,
    re.VERBOSE,
)


def manages_memory(name: str) -> bool:
    """Tell whether an API call of this name allocates, frees, pins or maps memory.

    Examples
    --------
    >>> [manages_memory(name) for name in ("cudaMalloc", "cuMemFree_v2", "hipHostMalloc", "cudaMemsetAsync", "aten::empty")]
    [True, True, True, False, False]
    """
    return _MEMORY.match(name) is not None
