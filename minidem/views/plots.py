"""The command `minidem plot`: figures of a study or of runs, as PNG, SVG or PDF, with their data as CSV."""

from collections.abc import Sequence
from pathlib import Path

from ..errors import InputError, unknown_name
from ..files.whole import check_free, write_whole
from .figures import COLUMNS, DEFAULT, Layout, Plot, columns_text, saved
from .look import limits
from .run_plots import runs_plot
from .study_plots import MEASURES, study_plot

FIGURES = ("png", "svg", "pdf")  # endings that choose one format
BOTH = ("png", "svg")  # what is written without such an ending


def plot_of(
    directories: Sequence[Path], measure: str | None = None, layout: Layout = DEFAULT, labels: Sequence[str] = ()
) -> Plot:
    """The plot of one study, or of one or several runs. `measure` is one of MEASURES, for studies only; `labels` are the
    names of the runs in the legend, one for each directory."""
    if measure is not None and measure not in MEASURES:
        raise unknown_name("measure", measure, MEASURES)
    if labels and len(labels) != len(directories):
        raise InputError(f"--label: {len(labels)} given for {len(directories)} directories; give one for each, in order")
    last = {directory.resolve(): k for k, directory in enumerate(directories)}  # a run given twice counts once
    directories, labels = [directories[k] for k in last.values()], [labels[k] for k in last.values() if labels]
    kinds = {directory: kind_of(directory) for directory in directories}
    studies = [directory for directory, kind in kinds.items() if kind == "study"]
    if not studies:
        if measure is not None:
            raise InputError(f"--measure {measure}: is for studies, but {directories[0]} is a run")
        return runs_plot(directories, layout, labels)
    if len(directories) > 1:
        beside = directories[1 - directories.index(studies[0])] if len(directories) == 2 else "others"
        raise InputError(f"{studies[0]}: cannot be plotted together with {beside}; give one study, or runs only")
    if labels:
        raise InputError(f"--label {labels[0]}: is for runs, but {studies[0]} is a study")
    return study_plot(studies[0], measure or "mean", layout)


def kind_of(directory: Path) -> str:
    """Whether a directory holds a "study" or a "run"; InputError if neither."""
    written = "give a directory that minidem study or minidem run wrote"
    try:
        if not directory.exists():
            raise InputError(f"{directory}: no such directory; {written}")
        if not directory.is_dir():
            raise InputError(f"{directory}: is a file; {written}")
        if (directory / "study.json").exists():
            return "study"
        if any((directory / name).exists() for name in ("manifest.json", "trajectory.h5")):
            return "run"
    except OSError as error:
        raise InputError(f"{directory}: {error.strerror}; {written}") from None
    raise InputError(f"{directory}: holds neither a study (study.json) nor a run (manifest.json); {written}")


def stem_of(directories: Sequence[Path], out: Path | None, overwrite: bool) -> Path:
    """Path of the files without suffix, checked: no such file exists, or `overwrite` is set."""
    stem = out or (directories[0] / "plot" if len(directories) == 1 else Path("energy"))
    if stem.suffix[1:].lower() in (*FIGURES, "csv"):
        stem = stem.with_suffix("")
    try:
        if stem.is_dir():
            raise InputError(f"--out: {stem} is a directory; give the first part of the file names, as in {stem}/plot")
        check_free(*(named(stem, suffix) for suffix in (*formats_of(out), "csv")), overwrite=overwrite)
    except OSError as error:
        raise InputError(f"--out: {stem} cannot be written: {error.strerror}") from None
    return stem


def named(stem: Path, suffix: str) -> Path:
    """STEM.SUFFIX, whatever dots the stem has."""
    return stem.with_name(f"{stem.name}.{suffix}")


def formats_of(out: Path | None) -> tuple[str, ...]:
    """The formats of the figure: the one that the ending of a file names, or PNG and SVG."""
    return (out.suffix[1:].lower(),) if out is not None and out.suffix[1:].lower() in FIGURES else BOTH


def layout_of(
    columns: int | None,
    title: str | None,
    x_limits: str | None,
    y_limits: str | None,
    x_label: str | None,
    y_label: str | None,
) -> Layout:
    """The layout that options of the command line ask for; InputError if it cannot be."""
    if columns is not None and columns not in COLUMNS:
        raise InputError(f"--columns {columns}: must be 1 or 2")
    x, y = (None if text is None else limits(text, name) for text, name in ((x_limits, "--xlim"), (y_limits, "--ylim")))
    return Layout(columns, title, x, y, x_label, y_label)


def write(plot: Plot, stem: Path, formats: tuple[str, ...] = BOTH) -> list[Path]:
    """Write STEM.FORMAT for each format, and STEM.csv; returns the files."""
    table = named(stem, "csv")
    try:
        stem.parent.mkdir(parents=True, exist_ok=True)
        files = saved(plot.figure, stem, formats)
        write_whole(table, columns_text(plot.data))
    except OSError as error:
        raise InputError(f"--out: {stem} cannot be written: {error.strerror}") from None
    return [*files, table]
