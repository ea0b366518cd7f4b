"""Who is who among the processes of a run."""

from __future__ import annotations

import pytest

from gpudiag.record import roles
from gpudiag.record.roles import NONE, Facts, assign

TRAIN = ("python", "train.py")
SPAWN = ("/venv/bin/python", "-c", "from multiprocessing.spawn import spawn_main; spawn_main()")
TRACKER = ("python", "-c", "from multiprocessing.resource_tracker import main;main(5)")
SERVER = ("python", "-c", "from multiprocessing.forkserver import main; main(8, 9)")


def facts(
    pid: int,
    parent: int,
    command: tuple[str, ...] = TRAIN,
    name: str = "python",
    age_s: float = 60.0,
    cpu_s: float = 1.0,
    framework: bool = False,
    rank: int | None = None,
) -> Facts:
    return Facts(pid, parent, name, command, age_s, cpu_s, framework, rank)


def tell(*processes: Facts, before: roles.Roles = NONE) -> roles.Roles:
    return assign({process.pid: process for process in processes}, before)


def test_forked_workers_have_their_parents_command() -> None:
    """GIVEN a program with forked children that kept its command THEN these are its workers."""
    found = tell(facts(10, 1), facts(11, 10), facts(12, 10))
    assert (found.main, found.workers) == (10, {11, 12})


def test_named_workers() -> None:
    """GIVEN PyTorch's names THEN they count, and an unnamed pool beside them does not."""
    found = tell(
        facts(10, 1, name="pt_main_thread"),
        facts(11, 10, name="pt_data_worker", age_s=0.0),
        facts(12, 10),
    )
    assert (found.main, found.workers) == (10, {11})


def test_spawned_workers() -> None:
    """GIVEN multiprocessing's spawn THEN its children are workers, its resource tracker is not."""
    found = tell(facts(10, 1), facts(11, 10, SPAWN), facts(12, 10, SPAWN), facts(13, 10, TRACKER))
    assert (found.main, found.workers) == (10, {11, 12})


def test_forkserver() -> None:
    """GIVEN a forkserver THEN its children are workers of the program, it itself is not."""
    found = tell(facts(10, 1), facts(11, 10, SERVER), facts(12, 11, SERVER), facts(13, 11, SERVER))
    assert (found.main, found.workers) == (10, {12, 13})


@pytest.mark.parametrize(
    "command",
    [
        ("python", "/x/torch/_inductor/compile_worker/__main__.py", "--workers=8"),
        ("/x/wandb-core", "--port-filename"),
        ("python", "-m", "tensorboard.main"),
        ("python", "other.py"),
        ("sh", "-c", "nvidia-smi"),
    ],
)
def test_not_workers(command: tuple[str, ...]) -> None:
    """GIVEN compilers, loggers and other programs THEN they are no workers."""
    found = tell(facts(10, 1), facts(11, 10, command, name=command[0].rsplit("/", 1)[-1]))
    assert (found.main, found.workers) == (10, frozenset())


def test_a_child_on_its_way_to_exec_is_no_worker_yet() -> None:
    """GIVEN a child that was forked just now THEN it counts only later, unless its parent is known
    to have workers: those that follow an epoch are counted at once."""
    young = facts(11, 10, age_s=0.1)
    assert tell(facts(10, 1), young).workers == frozenset()
    before = tell(facts(10, 1), facts(9, 10))
    assert tell(facts(10, 1), young, before=before).workers == {11}


@pytest.mark.parametrize(
    "launcher",
    [
        facts(10, 1, ("python", "/venv/bin/torchrun", "--nproc_per_node=2", "train.py")),
        facts(10, 1, ("python", "-m", "paddle.distributed.launch", "train.py")),
        facts(10, 1, ("python", "-u", "-m", "torch.distributed.run", "train.py")),
        facts(10, 1, ("/opt/conda/bin/python", "/opt/conda/bin/accelerate", "launch", "t.py")),
        facts(10, 1, ("sh", "-c", "python train.py"), name="sh"),
        facts(10, 1, ("conda", "run", "python", "train.py"), name="conda"),
        facts(10, 1, TRAIN, name="pt_elastic"),
    ],
)
def test_a_launcher_is_never_the_training(launcher: Facts) -> None:
    """GIVEN a launcher that uses more CPU than its child THEN the child is the training."""
    busy = launcher._replace(cpu_s=100.0)
    found = tell(busy, facts(11, 10))
    assert (found.main, found.workers) == (11, frozenset())


def test_ranks_of_torchrun() -> None:
    """GIVEN ranks with workers THEN rank 0 is the training process, and no rank is a worker."""
    launcher = facts(10, 1, ("python", "/venv/bin/torchrun", "train.py"))
    ranks = [facts(20, 10, rank=1), facts(21, 10, rank=0)]
    workers = [facts(30 + n, 20 + n % 2) for n in range(4)]
    found = tell(launcher, *ranks, *workers)
    assert found.main == 21
    assert found.mains == (21, 20)
    assert found.workers == {30, 31, 32, 33}


def test_spawned_ranks_with_workers() -> None:
    """GIVEN a program that spawns ranks, each with workers THEN it is not the training itself."""
    ranks = [facts(11, 10, SPAWN), facts(12, 10, SPAWN)]
    workers = [facts(20 + n, 11 + n % 2, SPAWN) for n in range(4)]
    found = tell(facts(10, 1), *ranks, *workers)
    assert set(found.mains) == {11, 12}
    assert found.workers == {20, 21, 22, 23}


def test_between_epochs_the_rank_stays() -> None:
    """GIVEN a rank whose workers have just ended THEN it is still the training process."""
    before = tell(facts(10, 1, cpu_s=1), facts(11, 10), facts(12, 1, ("python", "x.py"), cpu_s=90))
    found = tell(facts(10, 1), facts(12, 1, ("python", "x.py"), cpu_s=90), before=before)
    assert before.main == found.main == 10


def test_by_framework_and_by_cpu() -> None:
    """GIVEN several programs THEN one with a framework is the training, else the busiest."""
    one, two = facts(10, 1, ("python", "a.py"), cpu_s=1), facts(11, 1, ("python", "b.py"), cpu_s=50)
    assert tell(one, two).main == 11
    assert tell(one._replace(framework=True), two).main == 10


def test_a_close_race_does_not_flap() -> None:
    """GIVEN two programs with nearly the same CPU THEN the one told before stays."""
    one, two = (
        facts(10, 1, ("python", "a.py"), cpu_s=10),
        facts(11, 1, ("python", "b.py"), cpu_s=11),
    )
    before = tell(one, facts(11, 1, ("python", "b.py"), cpu_s=1))
    assert tell(one, two, before=before).main == 10


def test_a_program_in_another_language() -> None:
    """GIVEN a training that is no Python under a shell THEN it is found."""
    found = tell(facts(10, 1, ("sh", "run.sh"), name="sh"), facts(11, 10, ("./gpt2",), name="gpt2"))
    assert found.main == 11


def test_a_shell_alone_is_nothing() -> None:
    """GIVEN nothing but a shell THEN there is no training process."""
    assert tell(facts(10, 1, ("sh", "-c", "sleep 5"), name="sh")).main is None
    assert tell() == NONE
