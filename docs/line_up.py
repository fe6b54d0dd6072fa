"""Draws docs/line_up.png: the built-in chess pieces, their meshes behind and the clumps of 100 spheres in front."""

from pathlib import Path

from minidem.shapes import chess
from minidem.views.pictures import draw_side_by_side

pieces = [(chess.mesh(name).scale(h), chess.spheres(name, chess.COUNT) * h) for name, h in chess.HEIGHTS.items()]
draw_side_by_side(pieces, Path(__file__).with_name("line_up.png"))
