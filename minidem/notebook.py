"""What Jupyter shows: tables of a few facts, and a bar that moves."""

import html
import sys
import time
from collections.abc import Mapping
from typing import Any

BAR = "display:inline-block;vertical-align:middle;height:0.7em;"  # style
REFRESH = 0.1  # s between two updates of a bar


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook, which shows HTML."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return shell is not None and hasattr(shell, "kernel")


def card(title: str, rows: Mapping[str, Any], folded: Mapping[str, str] | None = None) -> str:
    """HTML of a title, a table of names and values, and texts that open on a click, by their headings."""
    cells = "".join(
        "<tr>" + "".join(f'<td style="text-align:left">{html.escape(str(cell))}</td>' for cell in row) + "</tr>"
        for row in rows.items()
    )
    texts = "".join(
        f"<details><summary>{html.escape(name)}</summary><pre>{html.escape(text)}</pre></details>"
        for name, text in (folded or {}).items()
    )
    return f"<div><strong>{html.escape(title)}</strong><table>{cells}</table>{texts}</div>"


class Bar:
    """How much of something is done: a bar in a notebook, a line on stderr elsewhere; with the time that is left."""

    def __init__(self, name: str):
        self._name, self._begun, self._shown = name, time.monotonic(), -REFRESH
        self._first: int | None = None  # what was done when the bar began
        self._display: Any = None

    def update(self, done: int, total: int, text: str = "") -> None:
        """Show that `done` of `total` is done; `text` is added at the end."""
        took = time.monotonic() - self._begun
        self._first = done if self._first is None else self._first
        if done < total and took - self._shown < REFRESH:
            return
        self._shown = took
        part = done / max(total, 1)
        made = done - self._first
        left = f", {duration(took * (total - done) / made)} left" if made > 0 and done < total else ""
        line = f"{self._name}: {100 * part:.0f} %{left}{text}"
        if in_notebook():
            self._show_html(part, line)
        else:
            print(f"\r{line:<78}", end="\n" if done >= total else "", file=sys.stderr, flush=True)

    def _show_html(self, part: float, line: str) -> None:
        from IPython.display import HTML, display

        inner = f'<span style="{BAR}width:{100 * part:.1f}%;background:#0072B2;vertical-align:top"></span>'
        outer = f'<span style="{BAR}width:16em;background:#ddd;margin-right:0.7em;line-height:0">{inner}</span>'
        shown: Any = HTML(f"<div>{outer}{html.escape(line)}</div>")  # type: ignore[no-untyped-call]
        if self._display is None:
            self._display = display(shown, display_id=True)  # type: ignore[no-untyped-call]
        else:
            self._display.update(shown)


def duration(seconds: float) -> str:
    """A time in words, such as 12 s, 3 min 20 s or 2 h 5 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60} min {whole % 60} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60} min"
