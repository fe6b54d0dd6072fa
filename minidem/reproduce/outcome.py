"""The outcome of a target: data, a figure, and published numbers compared with measured ones; and the files of these."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ..errors import WriteError
from ..files.whole import write_whole
from ..rotor.bench import finite_or_none
from ..views.figures import columns_text, saved

DPI = 150  # of the PNG files: for pages; the SVG files are for print


@dataclass(frozen=True)
class Comparison:
    """A published number, or statement, and the measured number."""

    what: str
    published: float | str | None  # None if the paper does not say
    measured: float

    @property
    def ratio(self) -> float | None:
        """measured / published; None without a published number."""
        return self.measured / self.published if isinstance(self.published, int | float) and self.published else None


@dataclass(frozen=True)
class Outcome:
    """What a target returns."""

    data: Mapping[str, Sequence[Any]]  # columns of the CSV file
    figure: Figure
    comparisons: Sequence[Comparison]
    notes: Sequence[str] = field(default=())  # values that the paper does not give, known differences
    more: Mapping[str, Figure] = field(default_factory=dict)  # further figures; the keys are added to the name

    def table(self) -> str:
        """The comparisons and notes as text, with the columns published, measured and ratio."""

        def shown(value: float | str | None) -> str:
            return "-" if value is None else value if isinstance(value, str) else f"{value:.4g}"

        rows = [("", "published", "measured", "ratio")]
        rows += [(c.what, shown(c.published), shown(c.measured), shown(c.ratio)) for c in self.comparisons]
        widths = [max(len(row[k]) for row in rows) for k in range(4)]
        lines = [f"{row[0]:<{widths[0]}}  " + "  ".join(f"{row[k]:>{widths[k]}}" for k in (1, 2, 3)) for row in rows]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    def as_dict(self) -> dict[str, Any]:
        """The comparisons and notes for JSON. Numbers that are not finite are None."""
        rows = [
            {
                "what": c.what,
                "published": c.published,
                "measured": finite_or_none(c.measured),
                "ratio": None if c.ratio is None else finite_or_none(c.ratio),
            }
            for c in self.comparisons
        ]
        return {"comparisons": rows, "notes": list(self.notes)}

    def write(self, directory: Path, name: str) -> list[Path]:
        """Write NAME.csv, NAME.png, NAME.svg and comparison.txt to an existing directory, and NAME-KEY.png and NAME-KEY.svg
        for further figures. Returns their paths."""
        data, comparison = directory / f"{name}.csv", directory / "comparison.txt"
        try:
            write_whole(data, columns_text(self.data))
            write_whole(comparison, self.table() + "\n")
            figures = {name: self.figure} | {f"{name}-{key}": figure for key, figure in self.more.items()}
            drawn = [saved(one, directory / stem, dpi=DPI) for stem, one in figures.items()]
            return [data, comparison, *(file for files in drawn for file in files)]
        except OSError as error:
            raise WriteError(f"{directory}: cannot be written: {error.strerror}") from None


def stacked(parts: Iterable[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Columns of several runs, one below the other; a single value of a run is repeated in all its rows."""
    columns: dict[str, list[Any]] = {}
    for part in parts:
        rows = max(np.size(values) for values in part.values())
        for name, values in part.items():
            columns.setdefault(name, []).extend(np.broadcast_to(np.asarray(values), (rows,)).tolist())
    return columns
