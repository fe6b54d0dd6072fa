"""Run the tests with the oldest and with the newest allowed versions of the dependencies, in virtual environments.

    python tests/versions.py FOLDER [pytest arguments]

FOLDER keeps the two environments, so that a second call need not install them again. The oldest versions are the lower
bounds in pyproject.toml; the newest are what pip finds below the upper bounds. Both get the newest test tools.
"""

import os
import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def requirements(oldest: bool) -> list[str]:
    """The dependencies of the package, at their lower bounds if `oldest`, and of its tests, for pip."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pinned = [re.sub(r">=([\d.]+).*", r"==\1", text) for text in project["dependencies"]]
    return [*(pinned if oldest else project["dependencies"]), *project["optional-dependencies"]["test"]]


def main(folder: Path, *arguments: str) -> int:
    """Print the versions of each environment and run pytest in it. Returns 1 if a test failed in either."""
    failed = False
    for name in ("oldest", "newest"):
        home = folder.resolve() / name
        python = home / ("Scripts" if os.name == "nt" else "bin") / "python"
        if not python.exists():
            venv.create(home, with_pip=True)
        pip = [str(python), "-m", "pip", "--disable-pip-version-check"]
        subprocess.run([*pip, "install", "--quiet", *requirements(name == "oldest")], check=True)
        print(f"== {name}", flush=True)
        # Without its dependencies: they are those above. The entry point and the metadata are what some tests want.
        subprocess.run([*pip, "install", "--quiet", "--no-deps", "--editable", str(ROOT)], check=True)
        subprocess.run([*pip, "list", "--format", "freeze"], check=True)
        failed |= subprocess.run([str(python), "-m", "pytest", *arguments], cwd=ROOT).returncode != 0
    return int(failed)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(Path(sys.argv[1]), *sys.argv[2:]))
