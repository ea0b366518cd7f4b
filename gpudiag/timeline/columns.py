"""② The contract of run.csv, format 1: every column, once.

`record` writes these columns and `signals` reads them; they meet nowhere else. A name is a prefix,
a quantity and, as its last part, the unit; a bare plural is a count. An empty cell means "not
measured", never zero. Standard library only: `record` imports this module.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

FORMAT = 1
MAGIC = f"# gpudiag run, format {FORMAT}"

Scope = Literal["tick", "gpu", "host", "cgroup", "tree", "rank"]


class Column(NamedTuple):  # a dataclass would cost every recording 10 ms of CPU at its start
    """One column of run.csv.

    `name` is without the device: `util_pct` of scope `gpu` stands in the file as `gpu0_util_pct`,
    `gpu1_util_pct`, …; the same holds for `rank`. All other scopes are written as they stand.
    `digits` is how many decimals the figure is worth.
    """

    name: str
    scope: Scope
    unit: str
    digits: int
    writer: str
    meaning: str

    def in_file(self, device: int = 0) -> str:
        """The name in the file, for GPU or rank number `device`."""
        return f"{self.scope}{device}_{self.name}" if self.scope in ("gpu", "rank") else self.name


def _columns(scope: Scope, writer: str, rows: str) -> Iterator[Column]:
    for row in rows.strip().splitlines():
        name, unit, digits, meaning = (part.strip() for part in row.split("|"))
        yield Column(name, scope, unit, int(digits), writer, meaning)


COLUMNS: tuple[Column, ...] = (
    *_columns(
        "tick",
        "recorder",
        """
t_s         | s   | 3 | monotonic time since the command was started, at the end of the host sample
skew_s      | s   | 4 | time between the arrival of the last GPU row and the end of the host sample
gpu_batch_s | s   | 4 | time between the arrival of the first and the last GPU row of this tick
""",
    ),
    *_columns(
        "gpu",
        "nvidia-smi",
        """
util_pct      | %   | 0 | share of the driver's last sample period (1/6 to 1 s) with at least one kernel running; says nothing about how well the GPU is used
mem_util_pct  | %   | 0 | share of that period in which device memory was read or written; not how full it is
mem_used_mib  | MiB | 0 | device memory held by all processes, contexts and caches included
power_w       | W   | 1 | board power; a 1 s average on most GPUs since Ampere, instantaneous before
temp_c        | °C  | 0 | temperature of the GPU core
sm_clock_mhz  | MHz | 0 | clock of the streaming multiprocessors
mem_clock_mhz | MHz | 0 | clock of the device memory
pstate        |     | 0 | performance state, 0 (fastest) to 15
throttle_bits |     | 0 | bit mask of the reasons that hold the clock down: 1 idle, 2 application clocks, 4 software power cap, 8 hardware slowdown, 16 sync boost, 32 software thermal, 64 hardware thermal, 128 power brake, 256 display clock
pcie_gen      |     | 0 | current PCIe generation; drops when the GPU is idle
pcie_lanes    |     | 0 | current PCIe width
""",
    ),
    *_columns(
        "gpu",
        "nvidia-smi and /proc",
        """
own_procs     |     | 0 | processes of the run with a context on this GPU; asked every 20 s, cells between are empty, as they are where PIDs cannot be told
foreign_procs |     | 0 | processes on this GPU that are not of the run, likewise
foreign_mem_mib | MiB | 0 | device memory that these hold, likewise
""",
    ),
    *_columns(
        "host",
        "psutil",
        """
host_cpu_pct          | %     | 1 | CPU of the whole machine, 100 = all logical cores busy
host_core_max_pct     | %     | 0 | CPU of the busiest logical core
host_iowait_pct       | %     | 1 | share of time idle with disk I/O outstanding; not reliable, never evidence on its own
host_idle_cores       | cores | 2 | idle cores among those the run may use (its affinity)
host_mem_used_mib     | MiB   | 0 | memory in use, page cache not counted
host_mem_avail_mib    | MiB   | 0 | memory that programs can still get
host_swap_used_mib    | MiB   | 0 | swap in use
host_disk_read_mib_s  | MiB/s | 2 | read from block devices, whole machine
host_disk_write_mib_s | MiB/s | 2 | written to block devices, whole machine
host_net_rx_mib_s     | MiB/s | 2 | received on all network interfaces but loopback
host_net_tx_mib_s     | MiB/s | 2 | sent on all network interfaces but loopback
host_load             |       | 2 | load average over one minute
host_shm_used_mib     | MiB   | 0 | used in /dev/shm
host_cpu_pressure_pct | %     | 1 | share of time in which some program waited for a core (the kernel's pressure figures, "some")
host_io_pressure_pct  | %     | 1 | share of time in which some program waited for a disk
host_mem_pressure_pct | %     | 1 | share of time in which some program waited for memory to be freed
""",
    ),
    *_columns(
        "cgroup",
        "cgroup files",
        """
cgroup_cpu_cores      | cores   | 2 | CPU used by the run's control group
cgroup_throttled_pct  | %       | 1 | share of scheduler periods in which the CPU quota stopped the group
cgroup_stopped_cores  | cores   | 2 | CPU time per second that the group's threads spent stopped by the quota
cgroup_mem_used_mib   | MiB     | 0 | memory charged to the group, page cache included
cgroup_mem_cache_mib  | MiB     | 0 | inactive file cache within it: given back under pressure
cgroup_oom_kills      |         | 0 | processes of the group that the kernel killed for memory, so far
""",
    ),
    *_columns(
        "tree",
        "psutil",
        """
main_cpu_pct          | %     | 0 | CPU of the training process, all threads, 100 = one core; spins at 100 while it waits for the GPU
main_thread_cpu_pct   | %     | 0 | CPU of its busiest thread
main_cpu_wait_pct     | %     | 0 | time its threads were ready to run and had no core, added up; 100 = one thread always waiting
main_threads          |       | 0 | its threads
main_rss_mib          | MiB   | 0 | its resident memory
main_read_mib_s       | MiB/s | 2 | read by it through system calls, page cache hits included, what ended children had read taken off
main_write_mib_s      | MiB/s | 2 | written by it through system calls, likewise
workers               |       | 0 | data-loader worker processes
workers_cpu_pct       | %     | 0 | their CPU added up, 100 = one core
workers_cpu_min_pct   | %     | 0 | CPU of the least busy worker
workers_cpu_median_pct| %     | 0 | CPU of the median worker
workers_cpu_max_pct   | %     | 0 | CPU of the busiest worker
workers_cpu_wait_pct  | %     | 0 | time the workers' threads were ready to run and had no core, added up; 100 = one thread always waiting
workers_running       |       | 0 | workers seen running or ready to run at the sample
workers_sleeping      |       | 0 | workers seen asleep (waiting for anything but a disk)
workers_blocked       |       | 0 | workers seen in uninterruptible sleep, mostly disk or network storage
workers_new           |       | 0 | workers that were not there at the last tick
workers_gone          |       | 0 | workers that have ended since the last tick
workers_rss_mib       | MiB   | 0 | their resident memory added up; shared pages count once for each
workers_pss_mib       | MiB   | 0 | their memory with each shared page divided among those that share it; read every 30 s at most, cells between are empty
workers_read_mib_s    | MiB/s | 2 | read by them through system calls, page cache hits included
workers_switches_per_s| 1/s   | 0 | their voluntary context switches: how often they had to wait
others                |       | 0 | other processes of the run: launchers, compilers, loggers
others_cpu_pct        | %     | 0 | their CPU added up
others_rss_mib        | MiB   | 0 | their resident memory added up
tree_disk_read_mib_s  | MiB/s | 2 | read from storage by the whole run
tree_disk_write_mib_s | MiB/s | 2 | written to storage by the whole run
tree_write_mib_s      | MiB/s | 2 | written by the whole run through system calls
""",
    ),
    *_columns(
        "rank",
        "psutil",
        """
cpu_pct        | %     | 0 | CPU of this training process, all threads, 100 = one core
thread_cpu_pct | %     | 0 | CPU of its busiest thread
cpu_wait_pct   | %     | 0 | time its threads were ready to run and had no core, added up
rss_mib        | MiB   | 0 | its resident memory
read_mib_s     | MiB/s | 2 | read by it through system calls, page cache hits included
workers        |       | 0 | its own data-loader worker processes
workers_cpu_pct| %     | 0 | their CPU added up, 100 = one core
""",
    ),
)

# a rank's columns are named as those of the whole run, so they are kept apart
BY_NAME: dict[str, Column] = {
    f"rank_{column.name}" if column.scope == "rank" else column.name: column for column in COLUMNS
}
_DEVICE = re.compile(r"(gpu|rank)(\d{1,4})_(\w+)", re.ASCII)


def parse_name(name: str) -> tuple[Column, int | None] | None:
    """The column that a name in a file stands for, and its device number; None if unknown."""
    match = _DEVICE.fullmatch(name)
    if match:
        column = BY_NAME.get(f"rank_{match[3]}" if match[1] == "rank" else match[3])
        return (column, int(match[2])) if column and column.scope == match[1] else None
    column = BY_NAME.get(name)
    return (column, None) if column and column.scope not in ("gpu", "rank") else None
