"""Control groups of both versions, from made-up files."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudiag.record.cgroup import Cgroup, folders


def mount(tmp_path: Path, root: str, place: str, kind: str, options: str) -> str:
    where = str(tmp_path / place).replace(" ", r"\040")
    return f"35 25 0:30 {root} {where} rw,relatime shared:9 - {kind} cgroup {options}\n"


def write(folder: Path, **files: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)


def made(tmp_path: Path, groups: str, mounts: str) -> Cgroup | None:
    proc = tmp_path / "proc" / "7"
    write(proc, cgroup=groups, mountinfo=mounts)
    return Cgroup.of(7, str(tmp_path / "proc"))


def second(folder: Path, **files: str) -> None:
    write(folder, cgroup__controllers="cpu memory\n", cgroup__type="domain\n", **files)


def test_version_2(tmp_path: Path) -> None:
    """GIVEN version 2 with a quota on a group above THEN the tightest limit counts, and rates are
    taken from where it stands."""
    top = tmp_path / "sys fs"
    write(top, cgroup__controllers="cpu memory\n")  # the machine's root has no cgroup.type
    second(
        top / "job",
        cpu__max="200000 100000\n",
        cpu__stat="usage_usec 9\nnr_periods 100\nnr_throttled 10\nthrottled_usec 1000000\n",
        memory__max="max\n",
    )
    second(
        top / "job" / "step",
        cpu__max="max 100000\n",
        cpu__stat="usage_usec 5000000\n",
        memory__max=f"{8 << 30}\n",
        memory__current=f"{3 << 30}\n",
        memory__stat=f"anon 5\ninactive_file {1 << 30}\n",
        memory__events="low 0\noom_kill 2\n",
    )
    cgroup = made(tmp_path, "0::/job/step\n", mount(tmp_path, "/", "sys fs", "cgroup2", "rw"))
    assert cgroup is not None
    assert cgroup.limits() == {"version": 2, "cpu_quota_cores": 2.0, "mem_limit_mib": 8192}
    (top / "job" / "step" / "cpu.stat").write_text("usage_usec 8000000\n")
    (top / "job" / "cpu.stat").write_text(
        "usage_usec 9\nnr_periods 120\nnr_throttled 15\nthrottled_usec 3000000\n"
    )
    assert cgroup.sample(2.0) == pytest.approx(
        {
            "cgroup_mem_used_mib": 3072,
            "cgroup_mem_cache_mib": 1024,
            "cgroup_oom_kills": 2,
            "cgroup_cpu_cores": 1.5,
            "cgroup_throttled_pct": 25,
            "cgroup_stopped_cores": 1.0,
        }
    )


def test_version_1_in_a_container(tmp_path: Path) -> None:
    """GIVEN version 1 as a container sees it THEN its group is the top of the mount."""
    cpu, memory = tmp_path / "cpu", tmp_path / "memory"
    write(
        cpu,
        cpu__cfs_quota_us="150000\n",
        cpu__cfs_period_us="100000\n",
        cpuacct__usage="1000000000\n",
        cpu__stat="nr_periods 10\nnr_throttled 0\nthrottled_time 0\n",
    )
    write(
        memory,
        memory__limit_in_bytes=f"{4 << 30}\n",
        memory__usage_in_bytes=f"{1 << 30}\n",
        memory__stat="total_inactive_file 1048576\n",
        memory__oom_control="oom_kill_disable 0\nunder_oom 0\noom_kill 0\n",
    )
    groups = "4:cpu,cpuacct:/docker/abc\n3:memory:/docker/abc\n1:name=systemd:/docker/abc\n0::/\n"
    mounts = mount(tmp_path, "/docker/abc", "cpu", "cgroup", "rw,cpu,cpuacct") + mount(
        tmp_path, "/docker/abc", "memory", "cgroup", "rw,memory"
    )
    cgroup = made(tmp_path, groups, mounts)
    assert cgroup is not None
    assert cgroup.limits() == {"version": 1, "cpu_quota_cores": 1.5, "mem_limit_mib": 4096}
    (cpu / "cpuacct.usage").write_text("2500000000\n")
    (cpu / "cpu.stat").write_text("nr_periods 20\nnr_throttled 10\nthrottled_time 500000000\n")
    sample = cgroup.sample(1.0)
    assert sample["cgroup_cpu_cores"] == pytest.approx(1.5)
    assert sample["cgroup_throttled_pct"] == pytest.approx(100)
    assert sample["cgroup_stopped_cores"] == pytest.approx(0.5)
    assert sample["cgroup_mem_cache_mib"] == pytest.approx(1)


def test_no_limits(tmp_path: Path) -> None:
    """GIVEN a group without limits THEN none is made up, and what is measured is still there."""
    second(
        tmp_path / "fs" / "user",
        cpu__max="max 100000\n",
        cpu__stat="usage_usec 0\nnr_periods 0\n",
        memory__max="max\n",
        memory__current="1048576\n",
    )
    write(tmp_path / "fs", cgroup__controllers="cpu\n")
    cgroup = made(tmp_path, "0::/user\n", mount(tmp_path, "/", "fs", "cgroup2", "rw"))
    assert cgroup is not None
    assert cgroup.limits() == {"version": 2, "cpu_quota_cores": None, "mem_limit_mib": None}
    sample = cgroup.sample(1.0)
    assert sample["cgroup_mem_used_mib"] == 1.0
    assert sample["cgroup_mem_cache_mib"] is None
    assert "cgroup_throttled_pct" not in sample


def test_the_whole_machine_is_no_group(tmp_path: Path) -> None:
    """GIVEN a run in the root group THEN the machine's figures are not passed off as its own."""
    write(tmp_path / "fs", cgroup__controllers="cpu\n", cpu__stat="usage_usec 5\n")
    found = folders("0::/\n", mount(tmp_path, "/", "fs", "cgroup2", "rw"))
    assert found == {}
    write(tmp_path / "cpu", release_agent="", cpu__cfs_quota_us="-1\n")
    assert folders("1:cpu:/\n", mount(tmp_path, "/", "cpu", "cgroup", "rw,cpu")) == {}


def test_limit_of_version_1_that_means_none(tmp_path: Path) -> None:
    """GIVEN the huge figure that version 1 writes for no limit THEN there is none."""
    write(
        tmp_path / "memory" / "a",
        memory__limit_in_bytes="9223372036854771712\n",
        memory__usage_in_bytes="1048576\n",
    )
    cgroup = made(tmp_path, "1:memory:/a\n", mount(tmp_path, "/", "memory", "cgroup", "rw,memory"))
    assert cgroup is not None
    assert cgroup.limits()["mem_limit_mib"] is None


@pytest.mark.parametrize("groups", ["", "nonsense", "0::/gone\n", ":::\n", "0::/../..\n"])
def test_nothing_to_see(tmp_path: Path, groups: str) -> None:
    """GIVEN groups that cannot be seen THEN nothing is recorded, without an error."""
    (tmp_path / "fs").mkdir()
    cgroup = made(tmp_path, groups, mount(tmp_path, "/x", "fs", "cgroup2", "rw") + "broken - \n")
    assert cgroup is None
    assert Cgroup.of(99, str(tmp_path)) is None
