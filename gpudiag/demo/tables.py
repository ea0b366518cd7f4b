"""① The texts of the simulated nvidia-smi that are no CSV: the table, `-L` and the help."""

from __future__ import annotations

from typing import Any

from gpudiag.demo.activity import Activity
from gpudiag.demo.faults import GPU, Scenario
from gpudiag.demo.fields import COMPUTE_APPS_FIELDS, query_gpu_fields

_RULE = "+" + "-" * 89 + "+"
_COLUMNS = (
    "+-----------------------------------------+------------------------+----------------------+"
)


def gpu_list(scenario: Scenario) -> str:
    """`nvidia-smi -L`: lost GPUs are listed too."""
    lines = []
    for gpu in scenario.gpus:
        lines.append(f"GPU {gpu.number}: {gpu.name} (UUID: {gpu.uuid})\n")
        for number, profile in enumerate(gpu.mig):
            uuid = f"MIG-51300000-0000-4000-8000-{gpu.number:06x}{number:06x}"
            lines.append(f"  MIG {profile:<13} Device {number:>2}: (UUID: {uuid})\n")
    return "".join(lines)


def version(scenario: Scenario) -> str:
    """`nvidia-smi --version`."""
    return (
        f"NVIDIA-SMI version  : {scenario.driver}\n"
        f"NVML version        : {scenario.driver.rpartition('.')[0]}\n"
        f"DRIVER version      : {scenario.driver}\nCUDA Version        : {scenario.cuda}\n"
    )


def usage(scenario: Scenario) -> str:
    """`nvidia-smi -h`, in short, with a word on what this tool is."""
    return (
        f"NVIDIA System Management Interface -- v{scenario.driver} (simulated by gpudiag)\n\n"
        "nvidia-smi [OPTION1 [ARG1]] [OPTION2 [ARG2]] ...\n\n"
        "    -L, -i, -f, -l, -lms, --query-gpu=, --query-compute-apps=, --format=,\n"
        "    --help-query-gpu, --help-query-compute-apps, --version\n"
    )


def help_query(switch: str, scenario: Scenario) -> str:
    """`--help-query-gpu` and `--help-query-compute-apps`: the names, without their meaning."""
    fields = query_gpu_fields(scenario.driver) if switch == "--query-gpu" else COMPUTE_APPS_FIELDS
    entries = "".join(
        "\n" + " or ".join(f'"{name}"' for name in (field.name, *field.aliases)) + "\n"
        for field in fields
    )
    return f'List of valid properties to query for the switch "{switch}":\n{entries}'


def summary(
    scenario: Scenario,
    stamp: str,
    rows: list[tuple[GPU, Activity, dict[str, Any]]],
    names: dict[int, str],
) -> str:
    """The table of `nvidia-smi` without arguments. `names` maps a process to its program."""
    driver = f"NVIDIA-SMI {scenario.driver:<22} Driver Version: {scenario.driver:<14} "
    lines = [
        stamp,
        _RULE,
        f"| {driver + 'CUDA Version: ' + scenario.cuda:<87} |",
        _COLUMNS,
        "| GPU  Name                 Persistence-M | Bus-Id          Disp.A "
        "| Volatile Uncorr. ECC |",
        "| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage "
        "| GPU-Util  Compute M. |",
        "|                                         |                        "
        "|               MIG M. |",
        "|" + _COLUMNS[1:-1].replace("-", "=") + "|",
    ]
    for gpu, _, found in rows:
        power = f"{found['power.draw']:.0f}W / {gpu.power_limit_w:.0f}W"
        memory = f"{found['memory.used']}MiB / {gpu.memory_total_mib}MiB"
        utilisation = found.get("utilization.gpu")
        share = "N/A" if utilisation is None else f"{utilisation}%"
        lines += [
            f"| {gpu.number:>3}  {gpu.name[:28]:<30} On  |   {gpu.bus_id} Off |{0:>21} |",
            f"| N/A {found['temperature.gpu']:>4}C {found['pstate']:>5} {power:>23} "
            f"| {memory:>22} |{share:>8}      Default |",
            f"|{'':41}|{'':24}| {found['mig.mode.current']:>20} |",
            _COLUMNS,
        ]
    lines += ["", _RULE, f"| {'Processes:':<87} |"]
    lines.append(
        f"| {' GPU   GI   CI              PID   Type   Process name':<74}{'GPU Memory':>13} |"
    )
    lines.append(f"| {'       ID   ID':<77}{'Usage':<10} |")
    lines.append("|" + "=" * 89 + "|")
    processes = [
        f"| {gpu.number:>4}   N/A  N/A {process.pid:>16}      C   "
        f"{names.get(process.pid, '')[:31]:<32}{process.memory_mib:>10}MiB |"
        for gpu, activity, _ in rows
        for process in activity.processes
    ]
    lines += processes or [f"| {' No running processes found':<87} |"]
    return "\n".join([*lines, _RULE, ""])
