"""A page in headless Chromium, over the DevTools pipe, with the standard library alone."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

BINARY = shutil.which("chromium")
_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe",
)  # fmt: skip
_PATIENCE_S = 60


class Page:
    """A page opened from a file. `requests` and `complaints` hold what the browser reported."""

    def __init__(
        self, path: Path, *, width: int = 1280, dark: bool = False, scripts: bool = True
    ) -> None:
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self._number, self._buffer = 0, b""
        self._profile = tempfile.mkdtemp(prefix="gpudiag-chromium-")
        self._start()
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        attached = self.ask("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Network", "Log", "Runtime"):
            self.ask(f"{domain}.enable")
        self.resize(width)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])
        self.ask("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.ask("Page.navigate", url=path.resolve().as_uri())
        self._wait_for("Page.loadEventFired")

    def _start(self) -> None:
        their_in, our_out = os.pipe()
        our_in, their_out = os.pipe()

        def plug() -> None:  # the browser listens on descriptor 3 and answers on 4
            low, high = os.dup(their_in), os.dup(their_out)
            os.dup2(low, 3, inheritable=True)
            os.dup2(high, 4, inheritable=True)

        assert BINARY
        self._session = ""
        self._process = subprocess.Popen(
            [BINARY, *_FLAGS, f"--user-data-dir={self._profile}"],
            preexec_fn=plug, close_fds=False, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(their_in)
        os.close(their_out)
        self._in, self._out = our_in, our_out

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send one command and return its result."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return dict(answer["result"])

    def evaluate(self, expression: str, *, wait: bool = False) -> Any:
        """The value of a JavaScript expression in the page, of a promise if `wait`."""
        result = self.ask(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=wait
        )
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def resize(self, width: int, height: int = 900) -> None:
        """Make the window `width` CSS pixels wide."""
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=False,
        )  # fmt: skip

    def close(self) -> None:
        """End the browser and remove its profile."""
        self._process.kill()
        self._process.wait()
        os.close(self._in)
        os.close(self._out)
        shutil.rmtree(self._profile, ignore_errors=True)

    def _wait_for(self, event: str) -> None:
        while self._next().get("method") != event:
            pass

    def _next(self) -> dict[str, Any]:
        """The next message of the browser; events that tests ask for are kept."""
        deadline = time.monotonic() + _PATIENCE_S
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError("chromium does not answer")
            chunk = os.read(self._in, 1 << 16)
            if not chunk:
                raise EOFError("chromium has ended")
            self._buffer += chunk
        line, self._buffer = self._buffer.split(b"\0", 1)
        message: dict[str, Any] = json.loads(line)
        parameters = message.get("params", {})
        if message.get("method") == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif message.get("method") == "Log.entryAdded":
            self.complaints.append(parameters["entry"]["text"])
        elif message.get("method") in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown"):
            self.complaints.append(json.dumps(parameters)[:500])
        return message
