"""Time zones for logs that have none; changes to and from summer time."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudiag.errors import UsageError
from gpudiag.timeline.host.merge import merge
from gpudiag.timeline.host.read import read_host
from gpudiag.timeline.read import read
from gpudiag.timeline.zone import parse_zone, zoned, zoned_host

HOSTS = Path(__file__).parents[1] / "fixtures" / "hosts"
HEAD = "timestamp, index, utilization.gpu [%]\n"


def rows(tmp_path: Path, *times: str) -> Path:
    path = tmp_path / "log.csv"
    path.write_text(HEAD + "".join(f"2026/{time}.000, 0, 50 %\n" for time in times))
    return path


def test_the_start_gets_its_offset(tmp_path: Path) -> None:
    timeline = read(rows(tmp_path, "02/03 08:00:00", "02/03 08:00:10"))
    berlin = zoned(timeline, parse_zone("Europe/Berlin"))
    assert berlin.start["time"] == "2026-02-03T08:00:00.000+01:00"
    assert berlin.frame.index.tolist() == [0, 10]
    assert zoned(berlin, parse_zone("UTC")) is berlin


def test_the_hour_that_summer_time_skips_is_no_gap(tmp_path: Path) -> None:
    """GIVEN a log over 29 March 2026, 2 o'clock, in Berlin THEN 10 s are 10 s."""
    timeline = read(rows(tmp_path, "03/29 01:59:40", "03/29 01:59:50", "03/29 03:00:00"))
    assert timeline.frame.index.tolist() == [0, 10, 3620]
    berlin = zoned(timeline, parse_zone("Europe/Berlin"))
    assert berlin.frame.index.tolist() == [0, 10, 20]
    assert berlin.source.span_s == 20
    assert any("summer time" in note for note in berlin.source.notes)


def test_the_hour_that_comes_twice_was_run_on_already(tmp_path: Path) -> None:
    times = ("10/25 02:59:40", "10/25 02:59:50", "10/25 02:00:00", "10/25 02:00:10")
    berlin = zoned(read(rows(tmp_path, *times)), parse_zone("Europe/Berlin"))
    assert berlin.frame.index.tolist() == [0, 10, 20, 30]


def test_a_zone_makes_two_logs_comparable() -> None:
    zone = parse_zone("+01:00")
    gpu = zoned(read(HOSTS / "gpu.csv"), zone)
    sar = zoned_host(read_host(HOSTS / "sar.log"), zone)
    assert sar.clock == "utc"
    assert merge(gpu, sar).frame["host_cpu_pct"].count() == 2
    duct = read_host(HOSTS / "duct.jsonl")
    assert zoned_host(duct, zone) is duct


@pytest.mark.parametrize("text", ["Europe/Nowhere", "", "../../etc/passwd", "+99:00", "a\0b"])
def test_no_such_zone(text: str) -> None:
    with pytest.raises(UsageError, match="no time zone"):
        parse_zone(text)
