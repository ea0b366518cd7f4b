"""① One run of the simulated nvidia-smi: start-up, ticks, and what goes wrong between them."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

from gpudiag.demo import tables
from gpudiag.demo.activity import DeviceReader
from gpudiag.demo.arguments import Arguments, ArgumentsError
from gpudiag.demo.clock import STAMP, Clock
from gpudiag.demo.faults import (
    GPU,
    INFOROM_CODE,
    INFOROM_TEXT,
    START_ERRORS,
    Scenario,
    lost_marker,
)
from gpudiag.demo.fields import (
    COMPUTE_APPS_FIELDS,
    Field,
    UnknownFieldError,
    query_gpu_fields,
    resolve,
)
from gpudiag.demo.output import Output
from gpudiag.demo.values import Moment, answers, cell


class ExitRequest(Exception):  # noqa: N818 - it asks for an end, it is no error
    """Not a mistake: the tool ends here, with exit code `code`."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Session:
    """Answers `asked` from the devices of `folder`."""

    def __init__(self, folder: Path, scenario: Scenario, asked: Arguments, output: Output) -> None:
        self.scenario = scenario
        self._folder = folder
        self._asked = asked
        self._out = output
        self._clock = Clock(scenario.clock)
        self._reader = DeviceReader(folder, scenario.sample_period_s)
        self._tick = 0
        self._done: set[int] = set()  # the one-off faults that have struck

    def start(self) -> None:
        """Play the faults of start-up. Raises ExitRequest where the tool does not get further."""
        if slow := self.scenario.find("slow-start"):
            self._clock.sleep(slow["seconds"])
        hang = self.scenario.find("hang")
        if hang and hang["where"] == "start":
            self._hang(hang)
        if error := self.scenario.find("start-error"):
            code, text = START_ERRORS.get(error.get("name", ""), (255, ""))
            self._out.write(error.get("text", text))
            raise ExitRequest(error.get("code", code))

    def run(self) -> int:
        """Print the table or the query once, or until stopped; returns the exit code."""
        asked = self._asked
        fields = self._fields()
        gpus = self._selected()
        self._refuse_lost(gpus)
        if asked.header and fields:
            self._out.write(", ".join(_title(field, asked.units) for field in fields) + "\n")
        warning = self.scenario.find("warning")
        while True:
            self._between_rows()
            self._print(fields, gpus)
            if warning and self._tick == 0:
                told = warning.get("text", INFOROM_TEXT.format(bus_id=gpus[0].bus_id))
                self._out.write(told)
            self._tick += 1
            if asked.loop_s is None:
                return INFOROM_CODE if warning else 0
            if self.scenario.ticks is not None and self._tick >= self.scenario.ticks:
                return 0
            self._clock.sleep(asked.loop_s)

    def _fields(self) -> list[Field]:
        known: tuple[Field, ...]
        if self._asked.action == "query_gpu":
            known = query_gpu_fields(self.scenario.driver)
        elif self._asked.action == "query_apps":
            known = COMPUTE_APPS_FIELDS
        else:
            return []
        try:
            return resolve(self._asked.query, known)
        except UnknownFieldError as unknown:
            raise ArgumentsError(
                f'Field "{unknown.name}" is not a valid field to query.\n\n'
            ) from unknown

    def _selected(self) -> list[GPU]:
        """The GPUs of `-i`, by index, UUID or bus id, always in the order of their index."""
        gpus = self.scenario.gpus
        if self._asked.ids is not None:
            wanted = {word.strip().lower() for word in self._asked.ids.split(",")}
            gpus = tuple(
                gpu
                for gpu in gpus
                if wanted
                & {str(gpu.number), gpu.uuid.lower(), gpu.bus_id.lower(), gpu.bus_id[4:].lower()}
            )
        if not gpus:
            self._out.write("No devices were found\n")
            raise ExitRequest(6)
        return list(gpus)

    def _refuse_lost(self, gpus: list[GPU]) -> None:
        for gpu in gpus:
            if lost_marker(self._folder, gpu.number).exists():
                self._out.write(
                    f"Unable to determine the device handle for GPU{gpu.bus_id[4:]}: "
                    "Unknown Error\n"
                )
                raise ExitRequest(255)

    def _between_rows(self) -> None:
        """What happens before this tick's rows: text lines, death, a hang, a GPU that is lost."""
        for fault in self._new("text"):
            self._out.write(fault["text"] + "\n")
        for fault in self._new("gpu-lost"):
            lost_marker(self._folder, fault["gpu"]).touch()
        for fault in self._new("hang"):
            if fault["where"] == "between":
                self._hang(fault)
        for fault in self._new("death"):
            raise ExitRequest(fault["code"])

    def _new(self, kind: str) -> list[dict[str, Any]]:
        active = self.scenario.active(kind, self._tick, self._clock.elapsed())
        fresh = [fault for fault in active if id(fault) not in self._done]
        if kind != "hang":  # a hang never ends, and one in mid-row is not due yet
            self._done |= {id(fault) for fault in fresh}
        return fresh

    def _print(self, fields: list[Field], gpus: list[GPU]) -> None:
        stepped = sum(
            fault["seconds"]
            for fault in self.scenario.active("clock-step", self._tick, self._clock.elapsed())
        )
        if self._asked.action == "query_apps":
            self._print_processes(fields, gpus, stepped)
            return
        table = []
        for gpu in gpus:
            self._clock.sleep(self.scenario.query_s)
            activity = self._reader.read(gpu.number)
            now = self._clock.now(stepped)
            stamp = now.strftime(STAMP)[:-3]
            moment = Moment(self._tick, stamp, self.scenario.driver, len(self.scenario.gpus))
            found = answers(gpu, activity, moment, self._throttle(gpu.number))
            if fields:
                self._row(fields, gpu, found)
            else:
                table.append((gpu, activity, found))
        if table:
            names = {p.pid: _program(p.pid) for _, activity, _ in table for p in activity.processes}
            stamp = self._clock.now(stepped).strftime("%a %b %e %H:%M:%S %Y")
            self._out.write(tables.summary(self.scenario, stamp, table, names))

    def _row(self, fields: list[Field], gpu: GPU, found: dict[str, Any]) -> None:
        lost = lost_marker(self._folder, gpu.number).exists()
        units, driver = self._asked.units, self.scenario.driver
        cells = [cell(field, found, driver, lost=lost, units=units) for field in fields]
        row = ", ".join(cells) + "\n"
        for fault in self._new("hang"):
            if fault["where"] == "mid-row" and fault.get("gpu", gpu.number) == gpu.number:
                self._out.write(row[: max(1, len(row) // 2)])
                self._out.flush()
                self._hang(fault)
        self._out.write(row)

    def _print_processes(self, fields: list[Field], gpus: list[GPU], stepped: float) -> None:
        for gpu in gpus:
            for process in self._reader.read(gpu.number).processes:
                found = {
                    "timestamp": self._clock.now(stepped).strftime(STAMP)[:-3],
                    "gpu_name": gpu.name,
                    "gpu_bus_id": gpu.bus_id,
                    "gpu_serial": f"16500{gpu.number:08d}",
                    "gpu_uuid": gpu.uuid,
                    "pid": process.pid,
                    "process_name": _program(process.pid),
                    "used_gpu_memory": process.memory_mib,
                }
                self._row(fields, gpu, found)

    def _throttle(self, gpu: int) -> dict[str, Any] | None:
        active = self.scenario.active("throttle", self._tick, self._clock.elapsed())
        return next((fault for fault in active if fault.get("gpu", gpu) == gpu), None)

    def _hang(self, fault: dict[str, Any]) -> None:
        """Never come back; with `stopped` not even for signals other than SIGKILL.

        A file `hanging-PID` says that it is so, for a test that waits for it.
        """
        if fault.get("ignore_sigterm"):
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        (self._folder / f"hanging-{os.getpid()}").touch()
        if fault.get("stopped"):
            os.kill(os.getpid(), signal.SIGSTOP)
        while True:
            time.sleep(3600)


def _title(field: Field, units: bool) -> str:
    return f"{field.name} [{field.unit}]" if units and field.unit else field.name


def _program(pid: int) -> str:
    """The executable of a process, which is what the tool calls its name."""
    try:
        return str(Path(f"/proc/{pid}/exe").readlink())
    except OSError:
        return ""
