"""What is written on pictures: the time, the colour scale and a scale bar, in one font."""

import io
import math
from functools import cache
from pathlib import Path

import matplotlib
from matplotlib import colormaps
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from PIL import Image, ImageDraw, ImageFont

FONT = Path(matplotlib.get_data_path()) / "fonts/ttf/DejaVuSans.ttf"  # the font of the figures
SMALLEST = 9  # pixels
UNITS = ((1e3, "km"), (1.0, "m"), (1e-2, "cm"), (1e-3, "mm"), (1e-6, "µm"), (1e-9, "nm"))


def text_height(height: int) -> int:
    """Size of text in a picture `height` pixels high, pixels."""
    return max(SMALLEST, round(height / 42))


@cache
def font(size: int) -> ImageFont.FreeTypeFont:
    """The font, `size` pixels high."""
    return ImageFont.truetype(str(FONT), size)


def write_time(image: Image.Image, time: float, ink: str) -> None:
    """Write a time (s) into the upper left corner of an image."""
    size = text_height(image.height)
    ImageDraw.Draw(image).text((0.8 * size, 0.6 * size), f"t = {time:.4f} s", fill=ink, font=font(size))


def bar_figure(title: str, span: tuple[float, float], colour_map: str, height: int, ink: str) -> Figure:
    """The colour scale of a picture `height` pixels high, as a figure of 100 pixels per inch.

    If both ends of `span` are the same, the bar has one colour and one label, this value: there is no range to show.
    """
    points = 0.72 * text_height(height)
    figure = Figure(figsize=(0.03 * height / 100, 0.6 * height / 100), dpi=100)
    axis = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    value, last = span
    if value == last:
        wide, only = max(1.0, abs(value)), ListedColormap([colormaps[colour_map](0.5)])
        bar = figure.colorbar(ScalarMappable(Normalize(value - wide, value + wide), only), cax=axis)
        bar.set_ticks([value], labels=[f"{value:.4g}"])
    else:
        bar = figure.colorbar(ScalarMappable(Normalize(*span), colour_map), cax=axis)
        bar.locator = MaxNLocator(5)
        bar.update_ticks()
    bar.set_label(title, size=points, color=ink)
    bar.ax.tick_params(labelsize=points, color=ink, labelcolor=ink)
    bar.ax.yaxis.get_offset_text().set(size=points, color=ink)
    bar.outline.set_visible(False)
    return figure


def colour_bar(title: str, span: tuple[float, float], colour_map: str, height: int, ink: str) -> Image.Image:
    """The colour scale of a picture `height` pixels high, RGBA."""
    figure = bar_figure(title, span, colour_map, height, ink)
    FigureCanvasAgg(figure)
    file = io.BytesIO()
    figure.savefig(file, format="png", transparent=True, bbox_inches="tight", pad_inches=0.05)
    return Image.open(file).convert("RGBA")


def put_bar(image: Image.Image, bar: Image.Image) -> None:
    """Draw the colour scale at the right edge of an image, in the middle of its height."""
    place = image.width - bar.width - round(0.015 * image.width), (image.height - bar.height) // 2
    if image.mode == "RGBA":  # paste would mix the transparency, too
        image.alpha_composite(bar, place)
    else:
        image.paste(bar, place, bar)


def round_length(longest: float) -> float:
    """The largest of 1, 2 and 5 times a power of ten that is not above `longest`."""
    power = 10.0 ** math.floor(math.log10(longest))
    return max(part * power for part in (1.0, 2.0, 5.0) if part * power <= longest * (1 + 1e-9))


def length_text(length: float) -> str:
    """A length (m) with a suitable unit."""
    unit, name = next(((unit, name) for unit, name in UNITS if length >= 0.999 * unit), UNITS[-1])
    return f"{length / unit:.3g} {name}"


def put_scale_bar(image: Image.Image, per_metre: float, ink: str, right: int = 0) -> float:
    """Draw a bar of known length, `right` pixels from the right edge; returns the length in m.

    `per_metre` is the number of pixels per metre in the middle of the scene.
    """
    size = text_height(image.height)
    length = round_length(0.2 * image.width / per_metre)
    end, bottom = image.width - right - size, image.height - size
    start = end - length * per_metre
    thick = max(2, size // 5)
    draw = ImageDraw.Draw(image)
    draw.rectangle((round(start), bottom - thick, round(end) - 1, bottom - 1), fill=ink)
    above = bottom - thick - round(0.4 * size)  # clear of the bar
    draw.text(((start + end) / 2, above), length_text(length), fill=ink, font=font(size), anchor="mb")
    return length
