"""Logs of the CPU side: sar, psrecord, con/duct, and their place beside a GPU log."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpudiag.errors import GpudiagError, UnreadableError, UsageError
from gpudiag.timeline.columns import parse_name
from gpudiag.timeline.host.merge import merge
from gpudiag.timeline.host.model import HostLog
from gpudiag.timeline.host.read import read_host
from gpudiag.timeline.read import read

HOSTS = Path(__file__).parents[1] / "fixtures" / "hosts"
LOGS = Path(__file__).parents[1] / "fixtures" / "logs"


def sound(name: str) -> HostLog:
    host = read_host(HOSTS / name)
    taken = host.lines - host.other_lines - len(host.dropped)
    assert 0 < taken <= host.lines
    assert all(parse_name(column) for column in host.columns)
    assert all(len(values) == len(host.time) for values in host.columns.values())
    return host


def test_sar_over_midnight() -> None:
    host = sound("sar.log")
    assert host.clock == "wall"
    assert np.diff(host.time).tolist() == [5]
    assert host.columns["host_cpu_pct"].tolist() == [45, 65]
    assert host.columns["host_iowait_pct"].tolist() == [2, 0]
    assert host.columns["host_core_max_pct"][0] == 95
    assert host.columns["host_net_rx_mib_s"][0] == 2  # not the loopback's
    assert host.facts == {"cpus": 8}
    assert len(host.dropped) == 1


def test_psrecord_and_duct() -> None:
    record = sound("psrecord.log")
    assert record.clock == "relative"
    assert record.columns["main_cpu_pct"].tolist() == [50, 51, 52, 53, 54, 55]
    assert any("--include-children" in note for note in record.notes)

    duct = sound("duct.jsonl")
    assert duct.clock == "utc"
    assert duct.columns["main_rss_mib"].tolist() == [100, 101, 102]
    assert list(duct.columns) == ["main_rss_mib"]  # ps's CPU is a lifetime average
    assert [d.line for d in duct.dropped] == [4]


def test_samples_stand_at_their_moments_and_are_not_carried_on() -> None:
    """GIVEN sar every 5 s beside a GPU log every 1 s THEN 2 of 14 moments have a CPU side."""
    beside = merge(read(HOSTS / "gpu.csv"), sound("sar.log"))
    cpu = beside.frame["host_cpu_pct"]
    assert cpu.dropna().to_dict() == {5.0: 45.0, 10.0: 65.0}
    assert beside.start["host"] == {"cpus": 8}
    assert any("2 of 14 moments" in note for note in beside.source.notes)


def test_without_a_common_clock_they_begin_together() -> None:
    beside = merge(read(HOSTS / "gpu.csv"), sound("psrecord.log"))
    assert beside.frame["main_rss_mib"].dropna().index.tolist() == [0, 1, 2, 3, 4, 5]
    assert any("taken to begin together" in note for note in beside.source.notes)


def test_times_with_and_without_a_zone_are_not_mixed() -> None:
    with pytest.raises(UsageError, match="have no time zone") as caught:
        merge(read(HOSTS / "gpu.csv"), sound("duct.jsonl"))
    assert "--timezone" in caught.value.hint


def test_two_logs_in_utc() -> None:
    beside = merge(read(HOSTS / "gpu-utc.jsonl"), sound("duct.jsonl"))
    assert beside.frame["main_rss_mib"].dropna().to_dict() == {0.0: 100.0, 10.0: 101.0, 20.0: 102.0}


def test_logs_of_different_days_and_no_logs() -> None:
    with pytest.raises(UsageError, match="none of its samples"):
        merge(read(LOGS / "tables-two-gpus.log"), sound("sar.log"))
    with pytest.raises(UnreadableError, match="holds no GPU readings") as caught:
        read(HOSTS / "sar.log")
    assert "--host" in caught.value.hint
    with pytest.raises(UnreadableError, match="not a log of the CPU side"):
        read_host(HOSTS / "gpu.csv")


SEEDS = [path.read_bytes() for path in sorted(HOSTS.iterdir())]
WORDS = [
    b"\n",
    b'"',
    b"{",
    b"}",
    b"#",
    b"all",
    b"%idle",
    b"NaN",
    b"1e999",
    b"-",
    b"99:99:99",
    b"\0",
]


@settings(
    max_examples=200,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(seed=st.sampled_from(SEEDS), data=st.data())
def test_damaged_logs_are_samples_or_one_line(
    tmp_path: Path, seed: bytes, data: st.DataObject
) -> None:
    """GIVEN a log with pieces cut, doubled and put in THEN a HostLog or a GpudiagError."""
    text = bytearray(seed)
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(text)))
        match data.draw(st.integers(0, 3)):
            case 0:
                text[at:at] = data.draw(st.sampled_from(WORDS))
            case 1:
                del text[at : at + data.draw(st.integers(1, 40))]
            case 2:
                text[at:at] = text[at : at + 100]
            case _:
                text[at : at + 1] = bytes([data.draw(st.integers(0, 255))])
    path = tmp_path / "log"
    path.write_bytes(bytes(text))
    with contextlib.suppress(GpudiagError):
        host = read_host(path)
        assert host.lines - host.other_lines - len(host.dropped) > 0
        assert (np.diff(host.time) > 0).all()
        assert not any(np.isinf(values).any() for values in host.columns.values())
