"""Tracks of asynchronous slices (phases b, n, e), which belong to an id and not to a thread.

Events of one category and id share a track while a slice of theirs is open; a track that is free again is taken by the
next id whose first event has the same name.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracegap.events import Events


def place_asynchronous(
    events: Events, phase: NDArray[np.uint8], order: NDArray[np.int64]
) -> dict[int, tuple[int, int]]:
    """Give each b, n and e event a track.

    Returns
    -------
    dict of int to (int, int)
        Event row to track number (from 0) and the name id of the track; events without an id, and ends whose id has
        no track, are left out. One pass, O(n).
    """
    rows = order[np.isin(phase[order], tuple(map(ord, "bne"))) & (events.id[order] >= 0)]
    placed: dict[int, tuple[int, int]] = {}
    last: dict[tuple[int, int], int] = {}  # track that a key used last
    user: list[tuple[int, int]] = []  # key that used a track last
    open_slices: list[int] = []
    name: list[int] = []
    free: dict[int, list[int]] = {}
    for row, kind, key in zip(rows.tolist(), phase[rows].tolist(), _keys(events, rows), strict=True):
        track = last.get(key)
        if track is not None and user[track] != key:
            track = None
        if kind == ord("e"):
            if track is not None:
                placed[row] = track, name[track]
                open_slices[track] -= open_slices[track] > 0
            continue
        if track is None:
            own = int(events.name[row])
            tracks = free.setdefault(own, [])
            track = next((one for one in tracks if not open_slices[one]), None)
            if track is None:
                track = len(name)
                name.append(own)
                user.append(key)
                open_slices.append(0)
                tracks.append(track)
            user[track] = key
            last[key] = track
        placed[row] = track, name[track]
        open_slices[track] += kind == ord("b")
    return placed


def _keys(events: Events, rows: NDArray[Any]) -> list[tuple[int, int]]:
    return list(zip(events.category[rows].tolist(), events.id[rows].tolist(), strict=True))
