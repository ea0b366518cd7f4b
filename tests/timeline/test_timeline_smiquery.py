"""nvidia-smi -q, as text and as XML: many outputs in one file, a lost GPU, hostile XML."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpudiag.errors import UnreadableError
from gpudiag.timeline.read import read

LOGS = Path(__file__).parents[1] / "fixtures" / "logs"


def test_text_of_two_gpus_of_which_one_is_lost() -> None:
    timeline = read(LOGS / "q-two-gpus.log")
    frame, source = timeline.frame, timeline.source
    assert source.format == "nvidia-smi -q"
    assert (source.rows, source.header_rows, source.unaccounted) == (4, 2, 0)
    assert frame.index.tolist() == [0, 5]
    assert frame["gpu0_util_pct"].tolist() == [88, 90]
    assert frame["gpu0_mem_used_mib"].tolist() == [9000, 9002]  # the GPU's, not a MIG device's
    assert frame["gpu0_power_w"].tolist() == [70.1, 71.1]
    assert frame["gpu0_throttle_bits"].tolist() == [4 + 8 + 64] * 2
    assert frame["gpu0_pcie_lanes"].tolist() == [8, 8]
    assert np.isnan(frame["gpu1_util_pct"].iloc[1])
    assert [(e.kind, e.data["gpu"]) for e in timeline.events] == [("gpu-lost", 1)]
    facts = timeline.gpu_facts(0)
    assert (facts["name"], facts["bus_id"]) == ("NVIDIA L4", "00000000:17:00.0")
    assert facts["driver"] == "610.57.04"
    assert (facts["mem_total_mib"], facts["pcie_lanes_max"]) == (23034, 16)
    assert any("in the order of their bus ids" in note for note in source.notes)


def test_xml_documents_of_which_the_last_is_cut() -> None:
    timeline = read(LOGS / "qx-two-gpus.xml")
    frame, source = timeline.frame, timeline.source
    assert source.format == "nvidia-smi -q -x (XML)"
    assert frame.index.tolist() == [0, 5, 10]
    assert frame["gpu0_util_pct"].tolist() == [88, 90, 91]
    assert frame["gpu1_util_pct"].tolist()[:2] == [0, 1]
    assert np.isnan(frame["gpu1_util_pct"].iloc[2])
    assert frame["gpu0_power_w"].iloc[0] == 70.1  # the average is N/A: the instant's
    assert frame["gpu0_throttle_bits"].iloc[0] == 1
    assert timeline.gpu_facts(0)["name"] == "NVIDIA L4 & co"
    assert any("not whole" in note for note in source.notes)
    assert (source.rows, source.lines_taken, source.unaccounted) == (5, 5, 0)


def test_xml_without_line_ends() -> None:
    source = read(LOGS / "qx-one-line.xml").source
    assert (source.rows, source.lines, source.lines_taken, source.unaccounted) == (4, 1, 1, 0)


LAUGHS = (
    '<?xml version="1.0"?>\n<!DOCTYPE nvidia_smi_log [\n <!ENTITY a "ha">\n'
    + "".join(f' <!ENTITY {chr(98 + n)} "{("&" + chr(97 + n) + ";") * 10}">\n' for n in range(12))
    + "]>\n<nvidia_smi_log><gpu><product_name>&m;</product_name></gpu></nvidia_smi_log>\n"
)


@pytest.mark.parametrize(
    "text",
    [
        LAUGHS,
        '<!DOCTYPE nvidia_smi_log [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
        "<nvidia_smi_log><gpu><product_name>&x;</product_name></gpu></nvidia_smi_log>",
        '<!DOCTYPE nvidia_smi_log [<!ENTITY % p SYSTEM "http://127.0.0.1:9/x.dtd"> %p;]>'
        "<nvidia_smi_log></nvidia_smi_log>",
        "<!DOCTYPE nvidia_smi_log [<!ELEMENT gpu ANY>]><nvidia_smi_log></nvidia_smi_log>",
        "<nvidia_smi_log>" + "<gpu>" * 5000,
    ],
)
def test_hostile_xml_is_refused(tmp_path: Path, text: str) -> None:
    """GIVEN entities, an external DTD or endless depth THEN one line, and nothing is expanded."""
    path = tmp_path / "log.xml"
    path.write_text(text)
    with pytest.raises(UnreadableError, match="entities or a DTD of its own") as caught:
        read(path)
    assert caught.value.hint


def test_an_external_entity_that_nobody_declared_is_not_looked_for(tmp_path: Path) -> None:
    path = tmp_path / "log.xml"
    text = (LOGS / "qx-one-line.xml").read_text().replace("&amp;", "&secret;")
    path.write_text(text)
    assert read(path).gpu_facts(0)["name"] == "NVIDIA L4  co"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("==============NVSMI LOG==============\n\nTimestamp : x\n", "without a reading"),
        ('<?xml version="1.0"?>\n<nvidia_smi_log></nvidia_smi_log>\n', "XML"),
        ('<?xml version="1.0"?>\n<html></html>\n', "no nvidia-smi log"),
    ],
)
def test_nothing_in_it(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "log"
    path.write_text(text)
    with pytest.raises(UnreadableError, match=message):
        read(path)
