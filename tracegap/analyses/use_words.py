"""How much work was done, in sentences. Fractions over 1 are never written."""

from collections.abc import Iterator

from tracegap.analyses import roofline
from tracegap.analyses.chains import ChainUse
from tracegap.analyses.counted import CounterUse
from tracegap.analyses.roofline import Use
from tracegap.analyses.use_results import Utilisation
from tracegap.report import named
from tracegap.units import bandwidth, count, duration, flops, ratio, size

MOST = 4
"""Devices that sentences are about."""
WORTH = 0.01
"""Share of the time under which nothing is said."""


def work_lines(result: Utilisation) -> Iterator[str]:
    """Say what each device achieved, what loses most, and what the roof would give."""
    rated = [use for use in result.totals if use.duration_ns > 0 and (use.flops_per_s or use.bytes_per_s)]
    main = [use for use in rated if use.device != roofline.HOST_LABEL] or rated
    for total in main[:MOST]:
        share = f" ({_share(result)})" if len(main) == 1 and result.modelled_ratio is not None else ""
        yield f"{capital(total.device)}, over what has a cost model{share}: {achieved(total)}{meant(total)}."
    worst = _worst(result, {use.device for use in main})
    if worst is not None:
        yield f"Farthest from the roof is {named(worst.name)}, {duration(worst.duration_ns)}: {achieved(worst)}{meant(worst)}."
    for chain in result.chains[:1]:
        if chain.bytes and chain.duration_ns >= WORTH * sum(use.duration_ns for use in main):
            yield chain_sentence(chain)
    if result.ideal_wall_ns is not None and result.wall_ns:
        if result.ideal_wall_ns < (1 - WORTH) * result.wall_ns:
            yield f"With all of that at the roof the window would take {duration(result.ideal_wall_ns)}."
        else:
            yield "With all of that at the roof the window would take as long: something else binds it."


def _share(result: Utilisation) -> str:
    what = "kernel" if result.devices else "operator"
    return f"{ratio(result.modelled_ratio or 0.0)} of {what} time"


def capital(text: str) -> str:
    """Return a text as the start of a sentence."""
    return text[:1].upper() + text[1:]


def achieved(use: Use) -> str:
    """Write rates and fractions; a fraction over 1 is not written."""
    parts = []
    if use.flops_per_s:
        share = "" if use.f_c is None or use.over_limit else f", {ratio(use.f_c)} of the peak"
        parts.append(f"{flops(use.flops_per_s)}{share}")
    if use.bytes_per_s:
        share = "" if use.f_b is None or use.over_limit else f", {ratio(use.f_b)} of the bandwidth"
        parts.append(f"{bandwidth(use.bytes_per_s)}{share}")
    return " and ".join(parts) or "rates are not known"


def meant(use: Use) -> str:
    """Return the diagnosis, to end a sentence with."""
    if use.over_limit:
        return "; above a limit, so a count, the clock or the limit is wrong"
    return f": {use.diagnosis}" if use.diagnosis else ""


def _worst(result: Utilisation, devices: set[str]) -> Use | None:
    """Return the family that loses most time to the roof, where there are several."""
    known = [use for use in result.families if use.attainable_ns is not None and use.device in devices]
    return max(known, key=lost) if len(known) > 1 else None


def lost(use: Use) -> int:
    """Return the time above the least, ns."""
    return use.duration_ns - (use.attainable_ns or 0)


def chain_title(chain: ChainUse) -> str:
    """Say which operators a chain is of."""
    often = f", {count(chain.count)} times" if chain.count > 1 else ""
    return f"{len(chain.names)} elementwise operators in a row ({_arrows(chain)}{often})"


def first_clause(action: str) -> str:
    """Return the start of an action, to go on with in a sentence."""
    first = action.rstrip(".").partition(":")[0].partition(";")[0]
    return first[:1].lower() + first[1:]


def chain_sentence(chain: ChainUse) -> str:
    """Say what a chain moves and what fusing it would save."""
    share = "" if chain.f_b is None or chain.over_limit else f", {ratio(chain.f_b)} of the bandwidth"
    rate = f" at {bandwidth(chain.bytes_per_s)}{share}" if chain.bytes_per_s else ""
    meant = f": {chain.diagnosis}" if chain.diagnosis else ""
    return (
        f"{chain_title(chain)} move {size(chain.bytes or 0)}"
        f" in {duration(chain.duration_ns)}{rate}{meant}; fused they would move {size(chain.saving_bytes)} less,"
        " if each feeds the next."
    )


def _arrows(chain: ChainUse) -> str:
    first, last = chain.names[0], chain.names[-1]
    between = " → … → " if len(chain.names) > 2 else " → "
    return f"{named(first)}{between}{named(last)}"


def notes(result: Utilisation) -> Iterator[str]:
    """Say what is not known, and where limits and counters are from."""
    rated = any(use.flops_per_s or use.bytes_per_s for use in result.operators)
    if rated and result.limits is None:
        yield (
            f"The limits of {_asked(result)} are not known, so rates are no fractions: give --device-limits FILE.toml, or"
            " --peak-flops and --peak-bandwidth."
        )
    over = sum(1 for use in result.operators if use.over_limit)
    if over:
        many = "1 operator is" if over == 1 else f"{count(over)} operators are"
        yield f"{many} faster than a limit allows: a count, the clock or a limit is wrong, or a cache or another algorithm did the rest."
    if result.operators and not rated:
        yield "What operators compute and move is not known: the trace has no shapes that a cost model reads. PyTorch records them with record_shapes=True."
    elif result.modelled_ratio is not None and result.modelled_ratio < 1:
        yield f"{ratio(1 - result.modelled_ratio)} of {'kernel' if result.devices else 'operator'} time has no cost model."
    if result.limits is not None and rated:
        yield f"Limits of {result.limits.device} from {result.limits.source}."
    loose = sum(kernel.duration_ns for kernel in result.kernels)
    if loose:
        yield f"{duration(loose)} of device time is in work that no operator in the trace launched."
    if result.counters is not None:
        yield _counted(result.counters)
        yield from result.counters.warnings


def _asked(result: Utilisation) -> str:
    return result.devices[0].device if result.devices else "the host"


def _counted(use: CounterUse) -> str:
    parts = []
    if use.instructions_per_cycle is not None:
        parts.append(f"{use.instructions_per_cycle:.2f} instructions a cycle")
    if use.flops_per_s is not None:
        parts.append(flops(use.flops_per_s) + ("" if use.f_c is None or use.over_limit else f" ({ratio(use.f_c)})"))
    if use.bytes_per_s is not None:
        share = "" if use.f_b is None or use.over_limit else f" ({ratio(use.f_b)})"
        parts.append(f"{bandwidth(use.bytes_per_s)} from last-level cache misses{share}")
    if use.flops_per_instruction is not None:
        parts.append(f"{use.flops_per_instruction:.2f} FLOPs an instruction")
    if use.vectorised is False:
        parts.append("so not vectorised")
    meant = f": {use.diagnosis}" if use.diagnosis else ""
    return f"Counters over {duration(use.duration_ns)} ({use.basis}): {', '.join(parts) or 'nothing that can be used'}{meant}."
