"""Where a device's copy goes, told by its name: the one rule for all profilers."""

import re

HOST_TO_DEVICE = "host to device"
DEVICE_TO_HOST = "device to host"
BETWEEN_DEVICES = "between devices"
ON_THE_DEVICE = "on the device"
SET = "set"

_DIRECTIONS = (
    (HOST_TO_DEVICE, re.compile(r"HtoD|H2D|Host ?-> ?Device|HostToDevice", re.IGNORECASE)),
    (DEVICE_TO_HOST, re.compile(r"DtoH|D2H|Device ?-> ?Host|DeviceToHost", re.IGNORECASE)),
    (BETWEEN_DEVICES, re.compile(r"PtoP|P2P|Peer", re.IGNORECASE)),
    (ON_THE_DEVICE, re.compile(r"DtoD|D2D|Device ?-> ?Device|DeviceToDevice", re.IGNORECASE)),
    (SET, re.compile(r"memset|fill", re.IGNORECASE)),
)


def direction(name: str) -> str | None:
    """Return the direction of a copy or set with this name; None where the name does not tell.

    Examples
    --------
    >>> [direction(name) for name in ("Memcpy DtoH (Device -> Pinned)", "Memcpy PtoP (Device -> Device)", "Memset (Device)")]
    ['device to host', 'between devices', 'set']
    """
    return next((word for word, pattern in _DIRECTIONS if pattern.search(name)), None)
