"""The errors that tracegap raises.

::

    TracegapError            base: what, where, what to do, in one line
    ├── SourceError          the bytes cannot be had: no such file, damaged archive, over a size guard
    ├── FormatError          the bytes are not a trace, or no timed slice is in them
    ├── LossError            ``strict`` was asked for, and reading lost something
    └── UsageError           an option's value makes no sense for this trace

The command line prints the message and exits with code 2; any other exception is a bug and shows its traceback.
"""


class TracegapError(Exception):
    """Base of all errors a user can cause; its text is one line: what, where, what to do."""


class SourceError(TracegapError):
    """The bytes of the input cannot be had."""


class FormatError(TracegapError):
    """The input is not a trace that can be analysed."""


class LossError(TracegapError):
    """Reading lost or repaired something, and ``strict`` forbids that."""


class UsageError(TracegapError):
    """An option does not fit the trace: a step that is not there, a time outside it."""
