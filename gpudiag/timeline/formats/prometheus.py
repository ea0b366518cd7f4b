"""② Read what GPU exporters for Prometheus show: one scrape, or many saved one after another."""

from __future__ import annotations

import math
import re

from gpudiag.errors import UnreadableError
from gpudiag.timeline.assemble import timeline
from gpudiag.timeline.fields import FIGURES
from gpudiag.timeline.formats.gather import Cell, Gather
from gpudiag.timeline.formats.metrics import ENGINE_ACTIVE, INFO, METRICS, XID, Gpus, is_mig, texts
from gpudiag.timeline.load import Log
from gpudiag.timeline.model import Timeline
from gpudiag.timeline.trouble import Trouble

NAME = "metrics of a GPU exporter (Prometheus text)"
_SAMPLE = re.compile(r"([A-Za-z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)(?:\s+(\d{10,16}))?")
_LABEL = re.compile(r'([A-Za-z_]\w*)="((?:[^"\\]|\\.)*)"')
_OF_A_GPU = re.compile(r"^(?:DCGM_FI_|nvidia_smi_|nvidia_gpu_)\w+(?:\{| )", re.MULTILINE)
_OF_PROMETHEUS = re.compile(r"^# (?:HELP|TYPE) \w+", re.MULTILINE)


def recognise(head: str) -> float:
    """By names of metrics; a page of another exporter is told too, to say so."""
    if _OF_A_GPU.search(head):
        return 0.95
    return 0.4 if len(_OF_PROMETHEUS.findall(head)) > 1 else 0.0


def read(log: Log, interval_s: float | None = None) -> Timeline:
    """The readings in `log` as a Timeline. Raises UnreadableError if there is none."""
    found = _Reader(log).run()
    if not len(found):
        raise UnreadableError(
            f"{log.path}: metrics of a Prometheus exporter, none of them a reading of a GPU",
            "gpudiag reads dcgm-exporter and nvidia_gpu_exporter",
        )
    readings = found.readings(absolute=found.timed)
    return timeline(readings, log.path, NAME, found, interval_s)


class _Reader:
    def __init__(self, log: Log) -> None:
        self._log = log
        self._found = Gather(log.notes)
        self._gpus = Gpus()
        # The scrape in the making: which samples it has, and each GPU's line, time and cells.
        self._seen: set[tuple[str, str]] = set()
        self._open: dict[int, tuple[int, float, dict[str, Cell]]] = {}
        self._texts: dict[int, dict[str, str]] = {}
        self._xids: dict[int, str] = {}

    def run(self) -> Gather:
        found = self._found
        for number, line in self._log.lines():
            found.lines += 1
            text = line.strip()
            sample = _SAMPLE.fullmatch(text) if text and text[0] != "#" else None
            if sample and (sample[2] is not None or "_" in sample[1]):
                found.other_lines += 1
                self._sample(number, sample)
            elif text.startswith("#"):
                found.other_lines += 1
            else:
                if text:
                    self._close()
                found.other(number, text)
        self._close()
        if note := self._gpus.note():
            found.note(note)
        return found

    def _sample(self, number: int, sample: re.Match[str]) -> None:
        name, inside = sample[1], sample[2] or ""
        if name not in METRICS and name not in (ENGINE_ACTIVE, XID, INFO):
            return
        labels = dict(_LABEL.findall(inside))
        if is_mig(labels):
            self._found.note("Metrics of MIG parts of a GPU were left aside.")
            return
        gpu = self._gpus.number(labels)
        if gpu is None:
            return
        if (name, inside) in self._seen:
            self._close()
        self._seen.add((name, inside))
        self._texts.setdefault(gpu, {}).update(texts(labels))
        if name == XID:
            self._xid(number, gpu, sample[3])
        elif name != INFO:
            time = int(sample[4]) / 1e3 if sample[4] else math.nan
            _, _, cells = self._open.setdefault(gpu, (number, time, {}))
            role, unit = METRICS.get(name, ("#active", "ratio"))
            cells.setdefault(role, (sample[3], unit))

    def _xid(self, number: int, gpu: int, value: str) -> None:
        if value not in ("0", self._xids.get(gpu, "0")) and value[:1].isdigit() and len(value) < 6:
            told = Trouble(re.compile("Xid"), "gpu-text", "the driver reported an Xid error", "")
            self._found.troubles.append((number, f"GPU {gpu}: Xid {value}", told))
        self._xids[gpu] = value

    def _close(self) -> None:
        found = self._found
        for gpu in sorted(self._open):
            number, time, cells = self._open[gpu]
            active = cells.pop("#active", None)
            if active and "util_pct" not in cells:
                cells["util_pct"] = active
                found.note("Utilisation is DCGM's share of time with an active engine.")
            if not cells.keys() & {*FIGURES}:
                continue
            found.add(number, {**cells, **self._texts[gpu], "index": str(gpu)}, time)
            found.other_lines -= 1
        self._seen, self._open = set(), {}
