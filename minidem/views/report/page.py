"""The command `minidem report`: a run or a study as one HTML page that needs no other file."""

import base64
import hashlib
import re
from pathlib import Path
from typing import Any

from ...errors import InputError
from ...files.whole import check_free, write_whole
from ..plots import kind_of
from .elements import Report, text
from .run_part import run_report
from .study_part import study_report

PAGE = Path(__file__).with_name("page.html")
SCRIPTS = tuple(Path(__file__).with_name(name) for name in ("shaders.js", "scene.js"))  # in this order


def write_report(directory: Path, out: Path | None = None, overwrite: bool = False, still: bool = True) -> dict[str, Any]:
    """Write the page of a run or a study; returns a report for JSON. Without `still` it has no still picture."""
    kind = kind_of(directory)
    out = checked(out or directory / "report.html", overwrite)
    report = (study_report if kind == "study" else run_report)(directory, out, still)
    page = page_of(report)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        write_whole(out, page)
    except OSError as error:
        raise InputError(f"--out: {out} cannot be written: {error.strerror}") from None
    return {"file": str(out), "bytes": out.stat().st_size, "kind": kind, "notes": report.notes}


def checked(out: Path, overwrite: bool) -> Path:
    """The file, if it may be written."""
    if out.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"--out: {out}: give a file that ends in .html")
    try:
        if out.is_dir():
            raise InputError(f"--out: {out} is a directory; give a file in it, as in {out}/report.html")
        check_free(out, overwrite=overwrite)
    except OSError as error:
        raise InputError(f"--out: {out} cannot be written: {error.strerror}") from None
    return out


def page_of(report: Report) -> str:
    """The whole page. Only its own script may run, and it loads nothing."""
    script = "".join(file.read_text(encoding="utf-8") for file in SCRIPTS)
    own = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    filled = {
        "policy": f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{own}'",
        "title": text(report.title),
        "body": "\n".join([f"<h1>{text(report.title)}</h1>", *report.parts]),
        "script": script,
    }
    page = PAGE.read_text(encoding="utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda found: filled[found[1]], page)  # in one pass: braces in the filled-in text stay
