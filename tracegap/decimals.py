"""Decimal microseconds as text to whole nanoseconds, exactly.

Chrome's ``ts`` and ``dur`` are decimal numbers of microseconds. A float64 cannot hold ``1722505412345678.901``, so the
digits themselves are read. Start and end are each rounded half-even from the exact decimal (a duration is their
difference), so that what touches in the file touches in nanoseconds.
"""

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation, localcontext
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracegap.events import NO_TIME

_DIGITS = 19
"""Digits that an int64 can hold; a number that has as many may still be too big, and then saturates."""
_FINE = 9
"""Decimals of a nanosecond that the fast path keeps."""
_UNIT = 10**_FINE
_LIMIT = int(np.iinfo(np.int64).max)
_POWERS = 10 ** np.arange(_DIGITS, dtype=np.int64)


class Times(NamedTuple):
    """Starts and durations of n events.

    Attributes
    ----------
    start : int64[n]
        Nanoseconds; `tracegap.events.NO_TIME` where there is none.
    duration : int64[n]
        End − start in nanoseconds; −1 where there is none, or it is negative.
    """

    start: NDArray[np.int64]
    duration: NDArray[np.int64]


def times(starts: Sequence[bytes], durations: Sequence[bytes], *, origin: int = 0) -> Times:
    """Read the JSON texts of ``ts`` and ``dur``: numbers or numeric strings, empty where missing.

    Parameters
    ----------
    starts, durations : sequences of bytes
        Of equal length; any object with the buffer protocol will do (`msgspec.Raw`).
    origin : int
        Nanoseconds to count from, for clocks whose time does not fit int64.

    Examples
    --------
    >>> times([b"1722505412345678.901", b'"7"', b""], [b"0.512", b"", b"1"])
    Times(start=array([ 1722505412345678901,                 7000, -9223372036854775808]), duration=array([512,  -1,  -1]))
    """
    begin, length = _read(starts), _read(durations)
    start = np.where(begin.state == _READ, _round(begin.whole, begin.fine), NO_TIME)
    both = (begin.state == _READ) & (length.state == _READ)
    fine = begin.fine + length.fine
    with np.errstate(over="ignore"):
        end = _round(begin.whole + length.whole + fine // _UNIT, fine % _UNIT)
        duration = np.where(both, end - start, -1)
    wrapped = both & (length.whole >= 0) & (end < start)
    negative = both & (length.whole < 0)
    slow = (begin.state == _SLOW) | (length.state == _SLOW) | wrapped
    if origin:
        slow = begin.state != _MISSING
    for row in np.flatnonzero(slow).tolist():  # in proportion to numbers with an exponent or very many digits
        start[row], duration[row] = _exactly(bytes(starts[row]), bytes(durations[row]), origin)
        negative[row] = False
    duration[negative] = -1
    return Times(start, duration)


_MISSING, _READ, _SLOW = 0, 1, 2


class _Numbers(NamedTuple):
    """Value = ``whole`` ns + ``fine`` / 10⁹ ns, where ``state`` is `_READ`."""

    whole: NDArray[np.int64]
    fine: NDArray[np.int64]
    state: NDArray[np.uint8]


def _read(texts: Sequence[bytes]) -> _Numbers:
    n = len(texts)
    joined = (b"\n".join(texts) + b"\n").replace(b'"', b"") if n else b""
    letters = np.frombuffer(joined, np.uint8)
    stop = np.flatnonzero(letters == ord("\n"))
    length = np.diff(stop, prepend=-1) - 1
    dots = np.flatnonzero(letters == ord("."))
    owner = np.searchsorted(stop, dots)
    decimals = np.zeros(n, np.int64)
    decimals[owner] = stop[owner] - dots - 1
    digits = length.copy()
    digits[owner] -= 1
    state = np.where(length == 0, _MISSING, np.where(digits <= _DIGITS, _READ, _SLOW)).astype(np.uint8)
    state[decimals > 3 + _FINE] = _SLOW
    if joined.translate(None, b"0123456789.-\n"):
        plain = np.isin(letters, np.frombuffer(b"0123456789.-\n", np.uint8))
        state[np.searchsorted(stop, np.flatnonzero(~plain))] = _SLOW
    return _scale(_integers(joined, state, length, stop), decimals, state)


def _integers(
    joined: bytes, state: NDArray[np.uint8], length: NDArray[np.int64], stop: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Read each number as if it had no dot; 0 where it is not to be read."""
    values = np.zeros(len(state), np.int64)
    good = state == _READ
    if (state == _SLOW).any():
        begin = stop - length
        joined = b"".join([joined[begin[row] : stop[row] + 1] for row in np.flatnonzero(good).tolist()])
    if good.any():  # empty lines are white space to numpy: it skips them
        values[good] = np.fromstring(joined.replace(b".", b"").decode("ascii"), dtype=np.int64, sep="\n")
    return values


def _scale(values: NDArray[np.int64], decimals: NDArray[np.int64], state: NDArray[np.uint8]) -> _Numbers:
    """Bring numbers of `decimals` decimals of a microsecond to nanoseconds."""
    grow = _POWERS[np.clip(3 - decimals, 0, 3)]
    state[(state == _READ) & (np.abs(values) >= _LIMIT // grow)] = _SLOW
    shrink = _POWERS[np.clip(decimals - 3, 0, _FINE)]
    if (shrink == 1).all():
        return _Numbers(values * grow, np.zeros(len(values), np.int64), state)
    whole, rest = np.divmod(values * grow, shrink)
    return _Numbers(whole, rest * (_UNIT // shrink), state)


def _round(whole: NDArray[np.int64], fine: NDArray[np.int64]) -> NDArray[np.int64]:
    """Round half-even; `fine` is in [0, 10⁹)."""
    up = (2 * fine > _UNIT) | ((2 * fine == _UNIT) & (whole % 2 == 1))
    rounded: NDArray[np.int64] = whole + up
    return rounded


def _exactly(start: bytes, duration: bytes, origin: int) -> tuple[int, int]:
    """Return start and duration, read with as many digits as there are."""
    begin, length = _decimal(start), _decimal(duration)
    if begin is None or not -_LIMIT <= (first := _nanoseconds(begin) - origin) <= _LIMIT:
        return NO_TIME, -1
    if length is None or length < 0:
        return first, -1
    last = _nanoseconds(begin + length) - origin
    return first, last - first if last <= _LIMIT and last - first <= _LIMIT else -1


def far_origin(starts: Sequence[bytes]) -> int:
    """Return where to count from, in nanoseconds: 0, unless most of the times do not fit int64.

    Examples
    --------
    >>> far_origin([b"13984392629999074", b"0", b"13984392629999099"]), far_origin([b"1722505412345678.901"])
    (13984392629999074000, 0)
    """
    values = [value for value in (_decimal(bytes(start)) for start in starts if len(memoryview(start)) > 15) if value]
    far = [value for value in map(_nanoseconds, values) if abs(value) > _LIMIT]
    return min(far) if 2 * len(far) > len(starts) else 0


def _decimal(text: bytes) -> Decimal | None:
    try:
        value = Decimal(text.decode("utf-8", "replace").strip().strip('"').strip())
    except InvalidOperation:
        return None
    return value if value.is_finite() and abs(value.adjusted()) < 100 else (Decimal(0) if value == 0 else None)


def _nanoseconds(value: Decimal) -> int:
    with localcontext() as context:
        context.prec = 400
        return round(value * 1000)
