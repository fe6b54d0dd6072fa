"""The plot of the energies in a corner of a film."""

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from ..files.trajectory import Trajectory
from .colours import MARK
from .look import Look
from .overlays import text_height
from .run_plots import TERMS

WIDTH = 0.3  # of the picture
SHORT = {"kinetic_translational": "translation", "kinetic_rotational": "rotation"}  # other terms have short names already
DPI = 100


class Inset:
    """A plot of the energies over time with a line at the current time."""

    def __init__(self, trajectory: Trajectory, recorded: NDArray[np.float64], size: tuple[int, int], look: Look):
        width = round(WIDTH * size[0])
        height = min(round(0.8 * width), size[1] // 2)
        points = 0.85 * text_height(size[1]) * 72 / DPI
        figure = Figure(figsize=(width / DPI, height / DPI), dpi=DPI, layout="constrained", facecolor=look.background)
        canvas = FigureCanvasAgg(figure)
        axis = figure.subplots()
        log, ink = trajectory.observables, look.ink
        for name, (label, colour, line) in TERMS.items():
            values = np.where(np.isfinite(log[name]), log[name], np.nan)
            if name != "gravity" or np.any(values != 0):
                colour = ink if name == "total" else colour
                axis.plot(log["time"], values, line, color=colour, linewidth=points / 6, label=SHORT.get(name, label))
        axis.set(xlim=(recorded[0], recorded[-1]), facecolor="none")
        axis.set_xlabel("time (s)", size=points, color=ink)
        axis.set_ylabel("energy (J)", size=points, color=ink)
        axis.locator_params(nbins=4)
        axis.tick_params(labelsize=points, color=ink, labelcolor=ink)
        axis.spines[:].set_color(ink)
        style = {"fontsize": points, "frameon": False, "labelcolor": ink}
        figure.legend(loc="outside upper center", ncols=2, handlelength=1.5, columnspacing=1.0, **style)
        canvas.draw()  # type: ignore[no-untyped-call]
        drawn = np.asarray(canvas.buffer_rgba())  # type: ignore[no-untyped-call]
        self._image = Image.fromarray(drawn[:, :, :3].copy())
        self._axis, self._box, self._thickness = axis, axis.get_window_extent(), max(1, width // 200)

    def draw_on(self, image: Image.Image, time: float) -> None:
        """Draw the plot into the lower left corner of a picture, with its line at a time in s."""
        top = image.height - self._image.height
        column = round(self._axis.transData.transform((time, 0.0))[0])
        rows = (image.height - round(self._box.y1), image.height - round(self._box.y0) - 1)
        image.paste(self._image, (0, top))
        ImageDraw.Draw(image).rectangle((column, rows[0], column + self._thickness - 1, rows[1]), fill=MARK)
