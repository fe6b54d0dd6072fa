"""Build the sdist, from it the wheel, and try the wheel in an empty virtual environment and an empty folder.

    python tests/package.py

The environment sees the packages of this Python, but neither its minidem nor this checkout.
"""

import email
import os
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COMMANDS = (
    "new chess",
    "run chess.toml --set time.end=1e-4",
    "view output/chess --screenshot a.png",
    "report output/chess",
    "new first",
    "study first.toml --list",
    "new own_scheme",
    "run rods.toml --plugin own_scheme.py --set integrator.rotation=exponential-midpoint --set time.end=1e-3",
    "schema study",
    "reproduce --list",
    "doctor --json",
)
WRITTEN = ("chess.toml", "output/chess/trajectory.h5", "a.png", "output/chess/report.html", "first.toml", "own_scheme.py")


def built(folder: Path) -> Path:
    """The wheel, built from the sdist; both are checked for what they must hold."""
    subprocess.run([sys.executable, "-m", "build", "--outdir", folder, ROOT], check=True, stdout=subprocess.DEVNULL)
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "docs/own_law.py", "tests/package.py"} <= names, sorted(names)
    with zipfile.ZipFile(wheel) as archive:
        (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        fields = email.message_from_bytes(archive.read(metadata))
    assert fields["Description-Content-Type"] == "text/markdown", fields.items()
    assert fields.get_payload(decode=True).decode() == (ROOT / "README.md").read_text(), "the description is not the README"
    assert {"Operating System :: POSIX :: Linux", "Operating System :: MacOS"} <= set(fields.get_all("Classifier"))
    return wheel


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        home, empty = folder / "venv", folder / "empty"
        wheel = built(folder / "dist")
        venv.create(home)
        empty.mkdir()
        inner = {key: Path(value) for key, value in sysconfig.get_paths(vars={"base": str(home)}).items()}
        pip = [sys.executable, "-m", "pip", "--python", str(inner["scripts"] / "python")]
        subprocess.run([*pip, "install", "--quiet", "--no-deps", wheel], check=True)
        # A folder named in a .pth file is searched; the .pth files in it, as of an editable minidem, are not read.
        (inner["purelib"] / "others.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
        plain = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "MINIDEM"))}
        environment = plain | {"MINIDEM_CACHE_DIR": str(folder / "cache")}
        where = "import minidem; print(minidem.__file__)"
        found = subprocess.check_output([inner["scripts"] / "python", "-c", where], cwd=empty, env=environment, text=True)
        assert Path(found.strip()).is_relative_to(home), found
        for command in COMMANDS:
            print(f"minidem {command}", flush=True)
            done = subprocess.run(
                [inner["scripts"] / "minidem", *command.split()], cwd=empty, env=environment, capture_output=True, text=True
            )
            assert done.returncode == 0, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
        assert all((empty / file).stat().st_size > 0 for file in WRITTEN)


if __name__ == "__main__":
    main()
