"""What a reproduced table or figure consists of, and its files."""

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from ..errors import WriteError
from ..views.figures import saved


@dataclass(frozen=True)
class Comparison:
    """One published number, or a bound in words, beside ours."""

    what: str
    published: float | str | None  # None where the paper gives no number
    measured: float

    @property
    def ratio(self) -> float | None:
        return self.measured / self.published if isinstance(self.published, int | float) and self.published else None


@dataclass(frozen=True)
class Outcome:
    data: Mapping[str, Sequence[Any]]  # columns of the CSV file
    figure: Figure
    comparisons: Sequence[Comparison]
    notes: Sequence[str] = field(default=())  # what to know when comparing: values the paper leaves out, known differences

    def table(self) -> str:
        """Published / measured / ratio, for people."""

        def shown(value: float | str | None) -> str:
            return "-" if value is None else value if isinstance(value, str) else f"{value:.4g}"

        rows = [("", "published", "measured", "ratio")]
        rows += [(c.what, shown(c.published), shown(c.measured), shown(c.ratio)) for c in self.comparisons]
        widths = [max(len(row[k]) for row in rows) for k in range(4)]
        lines = [f"{row[0]:<{widths[0]}}  " + "  ".join(f"{row[k]:>{widths[k]}}" for k in (1, 2, 3)) for row in rows]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    def as_dict(self) -> dict[str, Any]:
        def number(value: float | None) -> float | None:
            """JSON has no word for a step out of reach."""
            return None if value is None or not math.isfinite(value) else value

        rows = [
            {"what": c.what, "published": c.published, "measured": number(c.measured), "ratio": number(c.ratio)}
            for c in self.comparisons
        ]
        return {"comparisons": rows, "notes": list(self.notes)}

    def write(self, directory: Path, name: str) -> list[Path]:
        """NAME.csv, NAME.png, NAME.svg and comparison.txt, into a directory that exists."""
        data, comparison = directory / f"{name}.csv", directory / "comparison.txt"
        try:
            with data.open("w", newline="") as file:
                writer = csv.writer(file)
                writer.writerow(self.data)
                writer.writerows(zip(*self.data.values(), strict=True))
            comparison.write_text(self.table() + "\n")
            return [data, comparison, *saved(self.figure, directory / name)]
        except OSError as error:
            raise WriteError(f"{directory}: cannot be written: {error.strerror}") from None
