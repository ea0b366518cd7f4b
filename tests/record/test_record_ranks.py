"""Several training processes on one machine: which they are, and whose columns are whose."""

from __future__ import annotations

import statistics
import sys
from pathlib import Path

import pytest
from recordkit import Recorded, program, run

from gpudiag.record.naming import filled_in
from gpudiag.record.ranks import Slot, Slots, owners, training_processes
from gpudiag.record.roles import NONE, Facts, assign
from gpudiag.timeline.columns import parse_name

TRAIN = ("python", "train.py")
SPAWN = ("/venv/bin/python", "-c", "from multiprocessing.spawn import spawn_main; spawn_main()")
LAUNCH = ("python", "-m", "torch.distributed.run", "train.py")


def facts(pid: int, parent: int, **more: object) -> Facts:
    told = {"command": TRAIN, "name": "python", "age_s": 60.0, "cpu_s": 1.0, "framework": False}
    return Facts(pid=pid, parent=parent, **(told | {"rank": None} | more))  # type: ignore[arg-type]


def tell(*processes: Facts) -> list[int]:
    table = {process.pid: process for process in processes}
    return [found.pid for found in training_processes(table, assign(table, NONE))]


def test_ranks_by_their_environment() -> None:
    """GIVEN torchrun with ranks, each with a helper and workers that inherited its environment
    THEN the ranks are told, in order, and nothing below them."""
    found = tell(
        facts(5, 1, command=LAUNCH),
        facts(20, 5, rank=1),
        facts(10, 5, rank=0),
        facts(11, 10, rank=0),  # a worker, forked
        facts(12, 10, rank=0),
        facts(13, 10, rank=0, command=("python", "evaluate.py")),
        facts(14, 10, rank=0, command=("wandb-service",), name="wandb-service"),
    )
    assert found == [10, 20]


def test_a_wrapper_in_the_shell() -> None:
    """GIVEN a launcher that starts a script for every rank THEN the shells are not the ranks."""
    shell = {"command": ("bash", "rank.sh"), "name": "bash"}
    found = tell(
        facts(5, 1, command=LAUNCH),
        facts(10, 5, rank=0, **shell),
        facts(11, 10, rank=0),
        facts(20, 5, rank=1, **shell),
        facts(21, 20, rank=1),
    )
    assert found == [11, 21]


def test_spawned_ranks_by_their_context() -> None:
    """GIVEN mp.spawn, whose ranks look like spawned workers THEN those on a GPU are the ranks and
    the parent, which holds no context, is not; without knowledge of contexts they are workers."""
    parent = facts(10, 1, name="pt_main_thread", framework=True)
    spawned = [facts(pid, 10, command=SPAWN, gpu=True) for pid in (11, 12)]
    assert tell(parent, *spawned) == [11, 12]
    table = {p.pid: p for p in (parent, *spawned)}
    assert assign(table).workers == frozenset()
    unknown = [process._replace(gpu=False) for process in spawned]
    assert tell(parent, *unknown) == [10]


def test_a_loader_worker_with_a_context_is_a_worker() -> None:
    """GIVEN a spawned worker that touched the GPU, as its parent did THEN it is no rank."""
    table = {p.pid: p for p in (facts(10, 1, gpu=True), facts(11, 10, command=SPAWN, gpu=True))}
    assert tell(*table.values()) == [10]
    assert assign(table).workers == {11}


def test_a_monitor_beside_the_training() -> None:
    """GIVEN two programs under one rank (a monitor in the same Slurm task) THEN it is one rank, and
    it is the one on the GPU."""
    found = tell(
        facts(10, 1, rank=0, command=("python", "monitor.py"), cpu_s=90.0),
        facts(20, 1, rank=0, gpu=True),
    )
    assert found == [20]


def test_two_trainings_without_ranks() -> None:
    """GIVEN two programs with a framework at a time THEN both are told; two without are not."""
    assert tell(facts(10, 1, framework=True), facts(20, 1, framework=True)) == [10, 20]
    assert tell(facts(10, 1), facts(20, 1)) == []


def test_fork_of_a_named_process() -> None:
    """GIVEN children that still bear their parent's name THEN they are not ranks."""
    named = {"name": "pt_main_thread"}
    found = tell(facts(10, 1, **named), facts(11, 10, age_s=0.1, **named))
    assert found == [10]


def test_owners_of_workers() -> None:
    """GIVEN workers of two ranks, one through a forkserver THEN each belongs to its own rank."""
    server = ("python", "-c", "from multiprocessing.forkserver import main; main(8, 9)")
    table = {
        p.pid: p
        for p in (
            facts(10, 5),
            facts(11, 10),
            facts(20, 5),
            facts(21, 20, command=server),
            facts(22, 21, command=server),
            facts(30, 99),
        )
    }
    assert owners(frozenset({11, 22, 30}), {10, 20}, table) == {11: 10, 22: 20}


def test_slots_begin_with_the_second_process() -> None:
    """GIVEN one training process THEN there are no slots; with two there are, and they stay."""
    slots = Slots()
    a, b = (10, 1.0), (20, 2.0)
    assert slots.update([(a, None)]) == ([], [])
    taken, fresh = slots.update([(a, None), (b, None)])
    assert taken == fresh == [Slot(0, a), Slot(1, b)]
    assert slots.update([(b, None)]) == ([Slot(1, b)], [])


def test_slots_are_ranks() -> None:
    """GIVEN ranks 8 and 9 (the second node) THEN these are the slots; one that is started anew gets
    its own again, and a process without a rank the lowest free one."""
    slots = Slots()
    taken, _ = slots.update([((10, 1.0), 8), ((20, 1.0), 9), ((30, 1.0), None)])
    assert [slot.number for slot in taken] == [8, 9, 0]
    _, fresh = slots.update([((11, 5.0), 8), ((20, 1.0), 9)])
    assert fresh == [Slot(8, (11, 5.0))]
    _, fresh = slots.update([((20, 1.0), 9), ((40, 1.0), 9), ((50, 1.0), 10**6)])
    assert [slot.number for slot in fresh] == [0, 1]


def test_there_is_an_end_to_slots() -> None:
    """GIVEN a thousand processes with a framework THEN the file does not grow without an end."""
    taken, _ = Slots().update([((pid, 1.0), pid) for pid in range(1000)])
    assert len(taken) == 64


def test_names_of_columns() -> None:
    """GIVEN columns of ranks and of the whole run with one name THEN they are kept apart."""
    whole, rank = parse_name("workers"), parse_name("rank12_workers")
    assert whole is not None
    assert rank is not None
    assert (whole[0].scope, whole[1]) == ("tree", None)
    assert (rank[0].scope, rank[1], rank[0].in_file(12)) == ("rank", 12, "rank12_workers")
    for wrong in ("rank_workers", "rank0_others", "gpu0_workers", "workers_cpu"):
        assert parse_name(wrong) is None


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_ranks_really(tmp_path: Path) -> None:
    """GIVEN three ranks in sessions of their own THEN each has its columns and an event that says
    which process it is; the training process is the first of them, and its figures are its own."""
    assert run(*program("ranks", 3, 6), cwd=tmp_path).returncode == 0
    recorded = Recorded(tmp_path / "run.csv")
    told = [event["data"] for event in recorded.events if event["kind"] == "rank"]
    assert [event["rank"] for event in told] == [0, 1, 2]
    assert [event["RANK"] for event in told] == ["0", "1", "2"]
    assert len({event["pid"] for event in told}) == 3
    assert {name.split("_")[0] for name in recorded.columns if name.startswith("rank")} == {
        "rank0",
        "rank1",
        "rank2",
    }
    cpu = [statistics.mean(recorded.column(f"rank{n}_cpu_pct")[1:]) for n in range(3)]
    assert min(cpu) > 5
    full = [row for row in recorded.rows if row["rank0_cpu_pct"] and row["main_cpu_pct"]]
    assert full
    assert all(row["rank0_cpu_pct"] == row["main_cpu_pct"] for row in full)
    assert set(recorded.column("rank1_workers")) == {0.0}


def test_one_process_has_no_slot(tmp_path: Path) -> None:
    """GIVEN a run of one process THEN no column of a rank repeats what `main` says."""
    run(sys.executable, "-c", "import time; time.sleep(1.5)", cwd=tmp_path)
    assert not any(name.startswith("rank") for name in Recorded(tmp_path / "run.csv").columns)


def test_names_with_host_node_and_job() -> None:
    """GIVEN %h, %r, %j THEN they are filled in; what is not known is 0, and nothing leaves the
    folder."""
    job = {"SLURM_JOB_ID": "17", "SLURM_NODEID": "3"}
    assert filled_in("a/run-%j-%r.csv", job) == "a/run-17-3.csv"
    assert filled_in("run-%j-%r.csv", {}) == "run-0-0.csv"
    assert filled_in("%j", {"PBS_JOBID": "../9[1].x"}) == ".._9_1_.x"
    assert filled_in("100%%-%x-%h", {}).startswith("100%-%x-")
    assert "%h" not in filled_in("%h", {})


def test_a_rank_seen_before_its_exec_is_looked_at_again() -> None:
    """GIVEN a process seen between fork and exec, with its parent's environment still THEN its
    rank is read again once it has settled, and kept from then on."""
    from gpudiag.record import processes as module
    from gpudiag.record.reading import Reading
    from gpudiag.record.tree import Member

    environment: dict[str, str] = {}
    asked = []

    class Reader:
        def variable(self, pid: int, name: str) -> str | None:
            asked.append(name)
            return environment.get(name)

    looking = object.__new__(module.Processes)
    looking._reader = Reader()  # type: ignore[assignment]
    looking._ranks = {}
    member = Member(7, Reading(5, 100.0, "python", "R", 0.0, 1, 0), TRAIN, 0.0)
    member.age_s = 0.05
    assert looking._rank(member) is None
    environment["RANK"] = "1"
    member.age_s = 1.2
    assert looking._rank(member) == 1
    asked.clear()
    assert looking._rank(member) == 1
    assert not asked
