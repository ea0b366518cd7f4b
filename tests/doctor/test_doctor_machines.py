"""`gpudiag doctor` on machines with one fault each: it names the fault, and what to do."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from doctorkit import docker, host, quota, write

from gpudiag import cli

pytestmark = pytest.mark.skipif(os.name != "posix", reason="shell scripts stand for nvidia-smi")
Capture = pytest.CaptureFixture[str]


def levels(checks: dict[str, Any]) -> dict[str, str]:
    """The checks that are not ok."""
    return {name: check["level"] for name, check in checks.items() if check["level"] != "ok"}


def test_a_healthy_host_is_ready(healthy: Any, capsys: Capture) -> None:
    """GIVEN a healthy simulated host WHEN asked THEN it says so, without a warning, and exits 0."""
    code, checks = healthy.ask(capsys)
    assert code == 0
    assert levels(checks) == {}
    assert "590.48.01" in checks["nvidia-smi"]["fact"]
    assert cli.main(["doctor"]) == 0
    assert "Ready to record: gpudiag record -- python train.py" in capsys.readouterr().out


def test_no_nvidia_smi(patient: Any, capsys: Capture) -> None:
    """GIVEN a host without the program WHEN asked THEN that is the fault, and exit code 1."""
    host(patient.root)
    patient.hide_tools()
    code, checks = patient.ask(capsys)
    assert code == 1
    assert checks["nvidia-smi"]["fact"] == "not found on the PATH"
    assert "install the NVIDIA driver" in checks["nvidia-smi"]["fix"]


@pytest.mark.parametrize(
    ("name", "said", "fix"),
    [
        ("version-mismatch", "Driver/library version mismatch", "reboot"),
        ("no-devices", "No devices were found", "lspci"),
        ("driver-not-loaded", "couldn't communicate with the NVIDIA driver", "modprobe nvidia"),
        ("no-library", "couldn't find libnvidia-ml", "driver again"),
        ("no-permission", "Insufficient Permissions", "sudo nvidia-smi"),
        ("container-lost-gpu", "Unknown Error", "reboot"),
    ],
)
def test_what_nvidia_smi_says_of_itself(
    healthy: Any, capsys: Capture, name: str, said: str, fix: str
) -> None:
    """GIVEN an nvidia-smi that cannot answer WHEN asked THEN its own words, and what helps."""
    healthy.simulate(faults=[{"kind": "start-error", "name": name}])
    code, checks = healthy.ask(capsys)
    assert code == 1
    assert levels(checks) == {"nvidia-smi": "fault"}
    assert said in checks["nvidia-smi"]["fact"]
    assert fix in checks["nvidia-smi"]["fix"]


def test_a_container_without_the_gpu_flag(patient: Any, capsys: Capture) -> None:
    """GIVEN a container started plainly WHEN asked THEN each flag that is missing is named."""
    docker(patient.root)
    quota(patient.root, 2, memory_mib=4096)
    patient.hide_tools()
    code, checks = patient.ask(capsys)
    assert code == 1
    assert levels(checks) == {
        "nvidia-smi": "fault",
        "GPU access": "fault",
        "PID namespace": "warning",
        "/dev/shm": "warning",
        "CPU": "warning",
    }
    assert "--gpus all" in checks["GPU access"]["fix"]
    assert "--gpus all" in checks["nvidia-smi"]["fix"]
    assert "--pid=host" in checks["PID namespace"]["fix"]
    assert "--shm-size" in checks["/dev/shm"]["fix"]
    assert "64 MiB" in checks["/dev/shm"]["fact"]
    assert checks["CPU"]["fact"].startswith("a quota of 2 cores, and programs see 16")
    assert "OMP_NUM_THREADS=2" in checks["CPU"]["fix"]
    assert checks["memory"]["fact"] == "limited to 4,096 of 65,536 MiB"


@pytest.mark.parametrize(
    ("environ", "fix"),
    [
        ({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, "nvidia.com/gpu: 1"),
        ({"APPTAINER_CONTAINER": "/x.sif"}, "--nv"),
    ],
)
def test_other_containers_have_other_flags(
    patient: Any, capsys: Capture, environ: dict[str, str], fix: str
) -> None:
    """GIVEN Kubernetes or Apptainer without GPUs WHEN asked THEN the fix is theirs."""
    docker(patient.root)
    patient.environ(environ)
    patient.hide_tools()
    _, checks = patient.ask(capsys)
    assert fix in checks["GPU access"]["fix"]


def test_a_foreign_pid_namespace_alone_is_a_warning(patient: Any, capsys: Capture) -> None:
    """GIVEN a namespace of its own on a healthy host WHEN asked THEN a warning; exit code 0."""
    host(patient.root, pids="pid:[4026532201]")
    patient.simulate()
    code, checks = patient.ask(capsys)
    assert code == 0
    assert levels(checks) == {"PID namespace": "warning"}


@pytest.mark.parametrize(
    ("chosen", "level", "fact"),
    [
        ("", "fault", "no GPU"),
        ("-1", "fault", "no GPU"),
        ("3", "fault", "no GPU 3 here"),
        ("0,7", "warning", "no GPU 7 here"),
        ("0", "ok", "CUDA_VISIBLE_DEVICES=0"),
        ("GPU-5130", "ok", "GPU-5130"),
        ("MIG-123", "unknown", "not looked up"),
    ],
)
def test_visible_gpus(healthy: Any, capsys: Capture, chosen: str, level: str, fact: str) -> None:
    """GIVEN a choice of GPUs WHEN compared with what is here THEN what is not here is named."""
    healthy.environ({"CUDA_VISIBLE_DEVICES": chosen})
    code, checks = healthy.ask(capsys)
    assert checks["visible GPUs"]["level"] == level
    assert fact in checks["visible GPUs"]["fact"]
    assert code == (level == "fault")


@pytest.mark.parametrize(
    ("cuda", "driver", "level"),
    [
        ("'12.4'", "470.57.02", "fault"),
        ("'12.4'", "525.60.13", "ok"),  # minor-version compatibility
        ("'13.0'", "570.10", "fault"),
        ("'11.8'", "590.48.01", "ok"),
        ("'14.0'", "590.48.01", "unknown"),
        ("None", "590.48.01", "warning"),
    ],
)
def test_cuda_against_the_driver(
    healthy: Any, capsys: Capture, cuda: str, driver: str, level: str
) -> None:
    """GIVEN an installed PyTorch WHEN its CUDA is held against the driver THEN no false charge."""
    write(
        healthy.packages / "torch/version.py",
        f"__version__ = '2.4.0'\ncuda: Optional[str] = {cuda}\nhip = None\n",
    )
    healthy.simulate(driver=driver)
    _, checks = healthy.ask(capsys)
    assert checks["PyTorch"]["level"] == level
    assert "2.4.0" in checks["PyTorch"]["fact"]


def test_a_compatibility_library_may_make_up_for_an_old_driver(
    healthy: Any, capsys: Capture
) -> None:
    """GIVEN an old driver and CUDA's compatibility package WHEN asked THEN no fault."""
    write(healthy.packages / "torch/version.py", "__version__ = '2.4.0'\ncuda = '12.4'\n")
    write(healthy.root / "usr/local/cuda-12.4/compat/libcuda.so.1", "")
    healthy.simulate(driver="470.57.02")
    code, checks = healthy.ask(capsys)
    assert (code, checks["PyTorch"]["level"]) == (0, "warning")


def test_other_frameworks_are_read_too(healthy: Any, capsys: Capture) -> None:
    """GIVEN Paddle, TensorFlow and JAX WHEN asked THEN the CUDA each was built for."""
    at = healthy.packages
    write(at / "paddle/version/__init__.py", "full_version = '2.6.1'\ncuda_version = '11.8'\n")
    write(
        at / "tensorflow/python/platform/build_info.py",
        'build_info = collections.OrderedDict([("cuda_version", "12.3"), ("x", 1)])\n',
    )
    (at / "jaxlib").mkdir()
    (at / "jax_cuda12_plugin-0.4.30.dist-info").mkdir()
    _, checks = healthy.ask(capsys)
    assert "2.6.1 for CUDA 11.8" in checks["PaddlePaddle"]["fact"]
    assert "CUDA 12.3" in checks["TensorFlow"]["fact"]
    assert "CUDA 12" in checks["JAX"]["fact"]


def test_persistence_off_and_mig(healthy: Any, capsys: Capture) -> None:
    """GIVEN a GPU without persistence mode WHEN asked THEN a warning with the one command."""
    healthy.simulate(gpus=[{"values": {"persistence_mode": "Disabled"}}])
    code, checks = healthy.ask(capsys)
    assert code == 0
    assert checks["persistence mode"]["fix"] == "sudo nvidia-smi -pm 1"


def test_an_output_that_cannot_be(healthy: Any, capsys: Capture, tmp_path: Path) -> None:
    """GIVEN a folder that does not exist WHEN asked for it THEN a fault."""
    code, checks = healthy.ask(capsys, "-o", str(tmp_path / "nowhere" / "run.csv"))
    assert code == 1
    assert levels(checks) == {"output": "fault"}


def test_a_container_without_the_utility_capability(healthy: Any, capsys: Capture) -> None:
    """GIVEN a container with compute alone WHEN nvidia-smi finds no library THEN the flag."""
    write(healthy.root / ".dockerenv", "")
    healthy.environ({"NVIDIA_DRIVER_CAPABILITIES": "compute"})
    healthy.simulate(faults=[{"kind": "start-error", "name": "no-library"}])
    _, checks = healthy.ask(capsys)
    assert "NVIDIA_DRIVER_CAPABILITIES=compute,utility" in checks["nvidia-smi"]["fix"]
    assert checks["GPU access"]["level"] == "fault"


def test_a_slurm_job_without_a_gpu(patient: Any, capsys: Capture) -> None:
    """GIVEN a Slurm job without a GPU WHEN asked THEN how to ask for one."""
    host(patient.root)
    patient.environ({"SLURM_JOB_ID": "77"})
    patient.hide_tools()
    _, checks = patient.ask(capsys)
    assert "--gres=gpu:1" in checks["Slurm"]["fix"]
