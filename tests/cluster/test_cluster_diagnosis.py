"""A run on several machines: the straggler is named, and a healthy one is left in peace."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from clusterkit import machines

from gpudiag.cli import main
from gpudiag.diagnose import diagnose
from gpudiag.language import speaking
from gpudiag.report import render_text
from gpudiag.timeline.cluster.merge import merge_nodes
from gpudiag.timeline.converted import run_csv


@pytest.fixture(scope="module", params=["starved", "throttled"])
def straggling(request: pytest.FixtureRequest):
    timeline = merge_nodes(machines(request.param))
    return request.param, timeline, diagnose(timeline)


def test_the_straggling_machine_is_named(straggling) -> None:
    """GIVEN 64 GPUs and a machine that is starved or throttled THEN every finding names it, the
    first one says why, and one says that the machine is out of step."""
    kind, _, diagnosis = straggling
    first = {"starved": "GD101", "throttled": "GD402"}[kind]
    found = [finding for finding in diagnosis.findings if finding.severity != "info"]
    assert [finding.rule.code for finding in found] == [first, "GD310"]
    assert all("node5" in finding.summary for finding in found)
    assert found[0].gpus == tuple(range(40, 48))
    held = [cause.cause.name for cause in found[1].causes if cause.verdict == "holds"]
    assert held == [{"starved": "waits-for-its-own", "throttled": "lower-clock"}[kind]]


def test_the_cost_is_that_of_all_gpus(straggling) -> None:
    """GIVEN one starved machine of eight THEN the cost is an eighth of its own, and the bound is
    that of the machine: it sets the pace."""
    kind, _, diagnosis = straggling
    top = diagnosis.findings[0]
    if kind == "starved":
        assert top.cost == pytest.approx(0.4 / 8, abs=0.01)
        assert top.bound
        assert top.bound > 1.5
    assert sum(part.share for part in diagnosis.ledger.parts) == pytest.approx(1)
    assert len(diagnosis.ledger.gpus) == 64


def test_the_page(straggling) -> None:
    """GIVEN the page THEN it is far below 3 MB, names GPUs by machine, has 64 rows of heat, and
    what is typed on the machine has the machine's own number."""
    _, timeline, diagnosis = straggling
    page = render_text(diagnosis, timeline, "html")
    assert len(page.encode()) < 1_000_000
    assert "node5:7" in page
    assert page.count(">node0:0<") >= 1
    assert "-i node5" not in page
    assert render_text(diagnosis, timeline, "html") == page
    document = json.loads(render_text(diagnosis, timeline, "json"))
    assert document["findings"][0]["node"] == "node5"
    with speaking("zh"):
        assert "node5" in render_text(diagnose(timeline), timeline, "text")


def test_a_healthy_run_is_left_in_peace() -> None:
    """GIVEN 64 GPUs that all work THEN nothing is found, on all of them."""
    diagnosis = diagnose(merge_nodes(machines()))
    assert [finding.rule.code for finding in diagnosis.findings] == []
    assert diagnosis.state == "healthy"
    assert any("on none of the 8 machines" in check.text for check in diagnosis.checks)


def test_a_single_recording_hears_nothing_of_machines() -> None:
    """GIVEN one recording THEN the rule about machines is not even among what was not checked."""
    diagnosis = diagnose(machines(count=1, gpus=2)[0])
    assert "GD310" not in [check.rule.code for check in diagnosis.checks]


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """GIVEN files of one run THEN one page named after what they share; of two runs, one line."""
    paths = []
    for place, timeline in enumerate(machines("starved", count=2, gpus=2)):
        path = tmp_path / f"run-node{place}.csv"
        path.write_text("".join(run_csv(timeline)), "utf-8")
        paths.append(str(path))
    assert main(["report", *paths, "--lang", "en"]) == 0
    assert (tmp_path / "run-node.html").exists()
    assert main(["check", *paths, "--fail-on", "never"]) == 0
    capsys.readouterr()
    other = Path(__file__).parents[1] / "fixtures" / "runs" / "demo-starvation.csv"
    assert main(["report", paths[0], str(other)]) == 3
    told = capsys.readouterr().err.splitlines()
    assert "are not of one run" in told[0]
    assert "--one-run" in told[1]
    assert main(["report", *paths, "--host", paths[0]]) == 2
    assert main(["report", paths[0], paths[0]]) == 3
