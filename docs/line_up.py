"""Draws docs/line_up.png: the built-in chess pieces, their meshes behind and the clumps of 100 spheres in front."""

from pathlib import Path

from PIL import Image

from minidem.shapes import chess
from minidem.views.pictures import draw_side_by_side

pieces = [(chess.mesh(name).scale(h), chess.spheres(name, chess.COUNT) * h) for name, h in chess.HEIGHTS.items()]
file = Path(__file__).with_name("line_up.png")
draw_side_by_side(pieces, file)
Image.open(file).convert("RGB").quantize(256).save(file, optimize=True)  # a third of the bytes
