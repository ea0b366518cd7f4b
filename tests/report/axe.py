"""axe-core, the accessibility checker, from npm; it is run inside the page (test_report_browser).

`python tests/report/axe.py` installs it where the tests look for it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

VERSION = "4.10.3"
FOLDER = Path(os.environ.get("GPUDIAG_AXE") or Path.home() / ".cache" / "gpudiag-tests" / "axe")
SCRIPT = FOLDER / "node_modules" / "axe-core" / "axe.min.js"
MISSING = "needs axe-core: python tests/report/axe.py"


def install() -> int:
    """Install axe-core with npm; 0 if it is there."""
    npm = shutil.which("npm")
    if not SCRIPT.exists() and npm:
        FOLDER.mkdir(parents=True, exist_ok=True)
        package = f"axe-core@{VERSION}"
        subprocess.run(
            [npm, "install", "--silent", "--no-audit", "--no-fund", "--prefix", FOLDER, package],
            check=False,
        )
    return 0 if SCRIPT.exists() else 1


if __name__ == "__main__":
    sys.exit(install())
