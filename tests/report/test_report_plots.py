"""Figures: no reading lost, nothing drawn across a gap, short and clean SVG."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd
import pytest
import report_fixtures
from hypothesis import given
from hypothesis import strategies as st

from gpudiag.diagnose.model import Episode
from gpudiag.report.labels import label, number, percent, percents
from gpudiag.report.plots import choose, heat
from gpudiag.report.plots.axis import count_ticks, nice_top, time_ticks
from gpudiag.report.plots.envelope import BUCKETS, envelope
from gpudiag.report.plots.panels import Drawing, Guide, Panel, draw
from gpudiag.report.plots.svg import clean_svg, shorten
from gpudiag.timeline.columns import COLUMNS


def series(values: object, step: float = 1.0) -> pd.Series:
    array = np.asarray(values, dtype=float)
    return pd.Series(array, index=np.arange(len(array)) * step)


def test_a_spike_of_one_sample_survives_in_a_day() -> None:
    """GIVEN a day of zeros with a single 100, THEN the envelope holds 0 and 100 and few points."""
    values = np.zeros(86_400)
    values[54_321] = 100
    trace = envelope(series(values), 0, 86_399)
    assert trace.thinned
    assert len(trace.t_s) <= BUCKETS
    assert trace.high.max() == 100
    assert trace.low.min() == 0


@given(st.lists(st.none() | st.floats(-1e6, 1e6), min_size=1, max_size=300), st.integers(2, 40))
def test_the_envelope_keeps_the_extremes(values: list[float | None], buckets: int) -> None:
    """GIVEN any series, THEN its lowest and highest reading are in the envelope."""
    array = np.array([np.nan if value is None else value for value in values])
    trace = envelope(series(array), 0, len(array), buckets)
    known = array[np.isfinite(array)]
    assert len(trace.t_s) <= max(buckets, 2 * buckets)
    if len(known):
        assert trace.high.max() == known.max()
        assert trace.low.min() == known.min()
        assert sum(part.stop - part.start for part in trace.stretches) == len(trace.t_s)


@pytest.mark.parametrize("length", [600, 6000])
def test_nothing_is_drawn_across_a_gap(length: int) -> None:
    """GIVEN a recording that pauses for a fifth of its time, THEN the trace has two stretches."""
    values = series(np.ones(length))
    kept = values[(values.index < length * 0.4) | (values.index > length * 0.6)]
    assert len(envelope(kept, 0, length).stretches) == 2


def test_a_missed_sample_is_no_gap() -> None:
    """GIVEN every tenth reading missing, THEN the trace is one stretch."""
    values = series(np.ones(200))
    values.iloc[::10] = np.nan
    assert len(envelope(values, 0, 200).stretches) == 1


def test_paths_are_written_in_steps() -> None:
    """GIVEN matplotlib's path data, THEN level stretches are joined and lone points become dots."""
    assert shorten("M 0.04 10 \nL 1 10 \nL 2 10 \nL 3 9.5 \nL 3 2 \nz") == "M0 10h2l1-.5v-7.5z"
    assert shorten("M 5 5 \nL 5 5 \n") == "M5 5h0"
    assert shorten("M 0 0 L 1 1 M 2 2 L 2 -1") == "M0 0l1 1M2 2v-3"
    with pytest.raises(ValueError, match="'C'"):
        clean_svg(
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><g id="t-line">'
            '<path d="M 0 0 C 1 1 2 2 3 3"/></g></svg>', [], "i", "t", "d", "{}",
        )  # fmt: skip


@given(st.lists(st.tuples(st.integers(0, 8000), st.integers(0, 900)), min_size=1, max_size=40))
def test_a_shortened_path_ends_where_the_long_one_did(points: list[tuple[int, int]]) -> None:
    """GIVEN any points on a tenth of a pixel, THEN following the steps leads to the last one."""
    path = shorten("M" + " L".join(f" {x / 10} {y / 10}" for x, y in points))
    x = y = 0.0
    for command, rest in re.findall(r"([Mlhv])([^Mlhv]*)", path):
        values = [float(value) for value in re.findall(r"-?\d*\.?\d+", rest)]
        if command == "M":
            x, y = values
        elif command == "l":
            x, y = x + values[0], y + values[1]
        else:
            x, y = (x + values[0], y) if command == "h" else (x, y + values[0])
    assert (round(x * 10), round(y * 10)) == points[-1]


def test_a_figure_names_and_describes_itself_and_carries_no_style() -> None:
    """GIVEN a figure, THEN it has role, title and description, and neither styles nor colours."""
    panel = Panel(
        "GPU 0 power, W", "W", "power", series([100, 300, 200]), guides=(Guide(400, "x"),)
    )
    svg = draw(Drawing("f", "A <title>", (panel,), 0, 2, episodes=(Episode(0.5, 1),)))
    root = ET.fromstring(svg)
    assert root.get("role") == "img"
    assert [child.text for child in root[:2]] == [
        "A <title>", "GPU 0 power, W: 100 to 300, median 200."
    ]  # fmt: skip
    assert root.get("aria-labelledby") == "f-title f-desc"
    assert not re.search(r"style=|#[0-9a-f]{6}|clip-path|<defs", svg)
    classes = {element.get("class") for element in root.iter()}
    assert {"t-line f-power", "t-guide", "t-episode", "t-title", "t-tick"} <= classes


@pytest.mark.parametrize("values", [[np.nan] * 3, [np.inf, -np.inf, 1.0], [-5, 5, 1e300], [0, 0]])
def test_no_series_is_too_odd_to_draw(values: list[float]) -> None:
    """GIVEN no finite reading, infinities, negative or huge values, THEN a figure is drawn."""
    panel = Panel("x", "", "gpu", series(values))
    assert "nan" not in draw(Drawing("f", "x", (panel,), 0, 3))


def test_ticks_are_round_and_few() -> None:
    """GIVEN spans from a second to a month, THEN ticks are few and written in one unit."""
    assert [text for _, text in time_ticks(0, 63)] == [
        "0", "10 s", "20 s", "30 s", "40 s", "50 s", "60 s"
    ]  # fmt: skip
    assert [text for _, text in time_ticks(0, 7200)] == ["0", "30 min", "1 h", "1 h 30", "2 h"]
    assert [text for _, text in time_ticks(0, 86_400)][1:3] == ["4 h", "8 h"]
    assert [text for _, text in count_ticks(0, 239)][:2] == ["0", "40"]
    for span in (0.5, 1, 10, 1e3, 1e5, 3e6, 1e8):
        assert 1 <= len(time_ticks(0, span)) <= 8
    assert [nice_top(value) for value in (0, 0.7, 63, 100, 101)] == [1, 0.8, 80, 100, 200]


def test_figures_in_words() -> None:
    """GIVEN figures, THEN they have the digits they are worth, and percents add up to 100."""
    figures = {0: "0", 0.0344: "0.0344", 4.5: "4.5", 99.96: "100", 1250: "1,250", 2e9: "2.00e+09"}
    assert {value: number(value) for value in figures} == figures
    assert [percent(v) for v in (0, 0.0004, 0.006, 0.34, 1)] == [
        "0 %", "< 0.1 %", "0.6 %", "34 %", "100 %"
    ]  # fmt: skip
    assert percents([0.333, 0.333, 0.334]) == ["33 %", "33 %", "34 %"]
    assert percents([0.025, 0.325, 0.62, 0.03]) == ["3 %", "32 %", "62 %", "3 %"]
    assert percents([0.998, 0.002]) == ["100 %", "< 1 %"]


def test_every_column_has_a_title_of_its_own() -> None:
    """GIVEN the columns of run.csv, THEN each has a title on the page that is not its name."""
    titles: dict[str, str] = {}
    for column in COLUMNS:
        if column.name == "t_s" or column.scope == "rank":
            continue
        found = label(column.in_file())
        assert found is not None
        assert found.title != column.name
        titles.setdefault(found.title, column.name)
    assert len(titles) == len([c for c in COLUMNS if c.name != "t_s" and c.scope != "rank"])
    assert label("nonsense") is None


def test_the_heat_map_keeps_levels_and_leaves_gaps_blank() -> None:
    """GIVEN four GPUs at their own levels, THEN a row each; what was not measured is not drawn."""
    _, timeline = report_fixtures.many_gpus()
    rows = heat.rows(timeline)
    assert [row.gpu for row in rows] == [0, 1, 2, 3]
    assert np.isnan(rows[3].cells).sum() > 10
    assert not np.isnan(rows[0].cells).any()
    figure = choose.heat_figure(timeline)
    assert figure is not None
    drawn = ET.fromstring(figure.svg)
    assert "GPU 1: 80 %" in (drawn[1].text or "")
    key = {f"t-heat h-{letter}" for letter, _, _ in heat.LEVELS}
    assert {e.get("class") for e in drawn.iter("path")} == key
    assert choose.heat_figure(report_fixtures.starving()[1]) is None
