"""The fields of the simulated nvidia-smi, by driver generation."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudiag.demo.activity import Activity
from gpudiag.demo.faults import load
from gpudiag.demo.fields import DEPRECATED, UnknownFieldError, query_gpu_fields, resolve
from gpudiag.demo.values import LOST, NOT_AVAILABLE, Moment, answers, cell

DRIVERS = ("465.27", "535.113.01", "590.48.01", "610.57.04")
IDLE = Activity(0.0, 0.0, 0.0, 0.0, ())
# valid from 465 to 610, so that a recorder may ask without probing
CORE = (
    "timestamp,index,utilization.gpu,utilization.memory,memory.used,power.draw,temperature.gpu,"
    "clocks.current.sm,clocks.current.memory,pstate,clocks_throttle_reasons.active,"
    "pcie.link.gen.current,pcie.link.width.current,name,uuid,pci.bus_id,driver_version,"
    "vbios_version,memory.total,power.limit,enforced.power.limit,power.max_limit,clocks.max.sm,"
    "clocks.max.memory,pcie.link.gen.max,pcie.link.width.max,persistence_mode,mig.mode.current,"
    "ecc.mode.current,compute_mode"
)


def names(driver: str) -> set[str]:
    fields = query_gpu_fields(driver)
    return {name for field in fields for name in (field.name, *field.aliases)}


@pytest.mark.parametrize("driver", DRIVERS)
def test_the_core_fields_are_known_to_all(driver: str) -> None:
    """GIVEN any driver WHEN the core fields are asked for THEN they come in the order asked."""
    assert len(resolve(CORE, query_gpu_fields(driver))) == len(CORE.split(","))
    swapped = resolve("memory.used, index", query_gpu_fields(driver))
    assert [field.name for field in swapped] == ["memory.used", "index"]


@pytest.mark.parametrize("driver", DRIVERS)
def test_names_are_unique(driver: str) -> None:
    """GIVEN a driver WHEN its names and aliases are counted THEN each means one field."""
    fields = query_gpu_fields(driver)
    listed = [name for field in fields for name in {field.name, *field.aliases}]
    assert len(listed) == len(set(listed))


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("clocks_throttle_reasons.active", "yyyy"),
        ("clocks_event_reasons.active", "nyyy"),
        ("clocks_event_reasons_counters.sw_power_cap", "nnyy"),
        ("power.draw", "yyyy"),
        ("utilization.encoder", "nyyy"),
        ("pcie.link.gen.gpumax", "nyyy"),
        ("compute_cap", "nyyy"),
        ("memory.reserved", "nyyy"),
        ("gpu_recovery_action", "nnyy"),
        ("reset_status.reset_required", "nynn"),
        ("bbx.time_run", "nnny"),
        ("device_minor", "nnnn"),
        ("clocks.applications.sm", "nnnn"),
        ("cuda_version", "nnnn"),
    ],
)
def test_which_driver_knows_a_name(name: str, known: str) -> None:
    """GIVEN a name WHEN looked up in 465, 535, 590 and 610 THEN known where it should be."""
    assert "".join("y" if name in names(driver) else "n" for driver in DRIVERS) == known


def test_an_old_name_prints_under_the_new_one() -> None:
    """GIVEN 535 WHEN the old name of the clock reasons is asked for THEN the new one answers."""
    (new,) = resolve("clocks_throttle_reasons.active", query_gpu_fields("535.113.01"))
    (old,) = resolve("clocks_throttle_reasons.active", query_gpu_fields("465.27"))
    assert (new.name, old.name) == (
        "clocks_event_reasons.active",
        "clocks_throttle_reasons.active",
    )


def test_only_the_first_bad_name_is_told() -> None:
    """GIVEN a query with two bad names WHEN resolved THEN the error holds the first."""
    with pytest.raises(UnknownFieldError) as told:
        resolve("index,device_minor,nonsense", query_gpu_fields("590.48.01"))
    assert told.value.name == "device_minor"


def test_cells_are_spelled_as_the_tool_does(tmp_path_factory: pytest.TempPathFactory) -> None:
    """GIVEN one idle GPU WHEN cells are printed THEN with the tool's spelling and units."""
    driver = "590.48.01"
    gpu = load(tmp_path_factory.mktemp("none")).gpus[0]
    gpu = gpu._replace(values={"memory.used": [10, "[Unknown Error]"]})
    known = query_gpu_fields(driver)

    def ask(name: str, *, tick: int = 0, lost: bool = False, units: bool = True) -> str:
        moment = Moment(tick, "2026/03/01 10:00:00.000", driver, 1)
        (field,) = resolve(name, known)
        return cell(field, answers(gpu, IDLE, moment, None), driver, lost=lost, units=units)

    assert ask("utilization.gpu") == "0 %"
    assert ask("utilization.gpu", units=False) == "0"
    assert ask("power.limit") == "300.00 W"
    assert ask("temperature.gpu") == "33"
    assert ask("clocks_event_reasons.active") == "0x0000000000000001"
    assert ask("fan.speed") == NOT_AVAILABLE
    assert ask("clocks.applications.graphics") == DEPRECATED
    assert ask("platform.chassis_serial_number") == ""
    assert [ask("memory.used", tick=tick) for tick in (0, 1, 2)] == [
        "10 MiB",
        "[Unknown Error]",
        "10 MiB",
    ]
    assert ask("memory.used", lost=True) == LOST
    assert ask("index", lost=True) == "0"


def test_a_split_gpu_has_no_utilisation() -> None:
    """GIVEN MIG WHEN utilisation is asked for THEN it is not available, but memory is."""
    gpu = load(Path("/nonexistent")).gpus[0]._replace(mig=("1g.10gb",))
    found = answers(gpu, IDLE, Moment(0, "", "590.48.01", 1), None)
    assert "utilization.gpu" not in found
    assert found["memory.used"] == 0
    assert found["mig.mode.current"] == "Enabled"
