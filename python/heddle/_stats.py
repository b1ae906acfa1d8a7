# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a loop or a launch did."""

from dataclasses import dataclass
from typing import Any, List, Union

from . import _library as c


@dataclass(frozen=True)
class WorkerStats:
    """What one worker did in a loop. Times are in microseconds."""

    id: int
    kind: str
    name: str
    iterations: int
    blocks: int
    busy_us: float
    finish_us: float
    rate: float


@dataclass(frozen=True)
class LoopStats:
    """What a loop did. Times are in microseconds; include/heddle/loop.h describes them."""

    clock: str
    strategy: str
    us: float
    learning_us: float
    overhead_us: float
    blocks: int
    retried: int
    late: int
    workers: List[WorkerStats]

    def __str__(self) -> str:
        total = sum(worker.iterations for worker in self.workers)
        lines = [f"{self.us:.0f} us, {self.blocks} blocks ({self.strategy})"]
        for worker in self.workers:
            share = 100 * worker.iterations / total if total else 0
            lines.append(
                f"{worker.name}: {worker.iterations} iterations ({share:.0f} %) "
                f"in {worker.blocks} blocks"
            )
        return "\n".join(lines)


@dataclass(frozen=True)
class KernelWorkerStats:
    """What one worker did in a launch. Times are in microseconds."""

    id: int
    name: str
    groups: int
    start_us: float
    in_us: float
    compute_us: float
    out_us: float
    merge_us: float
    in_bytes: int
    out_bytes: int
    kept_bytes: int


@dataclass(frozen=True)
class KernelStats:
    """What a launch did. Times are in microseconds; include/heddle/kernel.h describes them."""

    queue_us: float
    us: float
    predicted_us: float
    profile_us: float
    decision_us: float
    groups: int
    moved: int
    workers: List[KernelWorkerStats]

    def __str__(self) -> str:
        lines = [f"{self.us:.0f} us, {self.groups} work-groups"]
        for worker in self.workers:
            share = 100 * worker.groups / self.groups if self.groups else 0
            lines.append(f"{worker.name}: {worker.groups} work-groups ({share:.0f} %)")
        return "\n".join(lines)


def _fields(structure: Any) -> Any:
    for field in structure._fields_:
        value = getattr(structure, field[0])
        yield field[0], value.decode(errors="replace") if isinstance(value, bytes) else value


def loop_stats(stats: Any) -> LoopStats:
    workers = []
    for worker in stats.workers[: stats.nworkers]:
        fields = dict(_fields(worker))
        fields["kind"] = c.library().heddle_kind_name(worker.kind).decode()
        workers.append(WorkerStats(**fields))
    fields = dict(_fields(stats), workers=workers)
    fields["clock"] = c.library().heddle_clock_name(stats.clock).decode()
    del fields["nworkers"]
    return LoopStats(**fields)


def kernel_stats(stats: Any) -> KernelStats:
    workers = [KernelWorkerStats(**dict(_fields(w))) for w in stats.workers[: stats.nworkers]]
    fields = dict(_fields(stats), workers=workers)
    del fields["nworkers"]
    return KernelStats(**fields)


def plot(stats: Union[LoopStats, KernelStats], ax: Any = None) -> Any:
    """Draws who did how much of a loop or a launch, and for how long, with matplotlib.

    ax: where; None: a new picture. Returns the axes, which a notebook shows.
    """
    try:
        import matplotlib.pyplot
    except ImportError:
        raise ImportError(
            "heddle.plot needs matplotlib (python3-matplotlib, or pip install matplotlib)"
        ) from None
    if not isinstance(stats, (LoopStats, KernelStats)):
        raise TypeError(f"stats is a {type(stats).__name__}, not what a loop or a kernel returns")
    if ax is None:
        ax = matplotlib.pyplot.subplots(figsize=(7, 1.2 + 0.4 * len(stats.workers)))[1]
    names = [worker.name for worker in stats.workers]
    if isinstance(stats, LoopStats):
        done = [worker.iterations for worker in stats.workers]
        ends = [worker.busy_us for worker in stats.workers]
        ax.barh(names, ends, label="busy")
    else:
        done = [worker.groups for worker in stats.workers]
        ends = [worker.start_us for worker in stats.workers]
        for step in ("in", "compute", "out"):
            times = [getattr(worker, step + "_us") for worker in stats.workers]
            ax.barh(names, times, left=ends, label=step)
            ends = [end + time for end, time in zip(ends, times)]
    for row, (end, part) in enumerate(zip(ends, done)):
        ax.text(end, row, f" {100 * part / max(1, sum(done)):.0f} %", va="center")
    ax.axvline(stats.us, color="0.5", linewidth=1)
    ax.set_xlabel("time (us)")
    ax.invert_yaxis()
    ax.legend(loc="lower right")
    return ax
