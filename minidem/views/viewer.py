"""The interactive window of `minidem view`."""

from collections.abc import Callable
from typing import Any

from ..files.trajectory import Trajectory
from .camera import aim, light
from .colours import FIELDS, SLIDER, fields_of
from .look import DEFAULT, Look
from .overlays import FONT
from .plotter import SIZE, new_plotter
from .scene import Scene
from .space import shown_space, some_frames


class Viewer:
    """A window with a time slider. The space bar plays and pauses, r returns to the first frame, c colours by the next
    field, and a click on a body prints its state."""

    PLAYS_AT = 40  # ms between two frames

    def __init__(
        self,
        trajectory: Trajectory,
        frame: int,
        colour_by: str,
        spheres: bool,
        say: Callable[[str], None] = print,
        look: Look = DEFAULT,
    ):
        self.trajectory, self.frame, self.say, self.look = trajectory, frame, say, look
        self.playing = False
        self.plotter = new_plotter(SIZE, off_screen=False)
        space = shown_space(trajectory, some_frames(trajectory))
        self.scene = Scene(self.plotter, trajectory, space, colour_by, spheres, look=look)
        self.bar: Any = None
        self.scale()
        light(self.plotter, space.size, shadows=0)
        self.plotter.enable_anti_aliasing("ssaa")
        aim(self.plotter, space.corners, below=0.08, place=look.camera, zoom=look.zoom)
        self.slider: Any = None
        if len(trajectory) > 1:
            self.slider = self.plotter.add_slider_widget(
                lambda value: self.show(round(value)),
                [0, len(trajectory) - 1],
                value=frame,
                pointa=(0.05, 0.06),
                pointb=(0.95, 0.06),
                color=SLIDER,
                tube_width=0.003,
                slider_width=0.02,
                fmt="%.0f",
                interaction_event="always",
            )
            self.plotter.add_timer_event(max_steps=10**9, duration=self.PLAYS_AT, callback=lambda step: self.tick())
        self.plotter.add_key_event("space", self.play_or_pause)
        self.plotter.add_key_event("r", lambda: self.show(0, move_slider=True))
        self.plotter.add_key_event("c", self.next_colour)
        self.plotter.enable_point_picking(
            callback=self.picked, use_picker=True, show_message=False, left_clicking=True, show_point=False
        )
        self.show(frame)

    def scale(self) -> None:
        """Fit the colour scale to the whole run."""
        self.scene.use(self.scene.colour_by, some_frames(self.trajectory))
        if self.bar is not None:
            self.plotter.remove_actor(self.bar, render=False)
            self.bar = None
        if self.scene.range is not None:
            self.bar = window_bar(FIELDS[self.scene.colour_by], self.scene.range, self.look)
            self.plotter.add_actor(self.bar, render=False, reset_camera=False)

    def show(self, frame: int, move_slider: bool = False) -> None:
        """Show a frame, given its number."""
        self.frame = frame
        shown = self.trajectory.frame(frame)
        self.scene.show(shown)
        self.plotter.add_text(
            f"t = {shown.time:.4g} s   colour: {self.scene.colour_by}   (space, r, c, click)",
            position="upper_left",
            font_size=10,
            color=self.look.ink,
            font_file=str(FONT),
            name="caption",
            render=False,
        )
        if move_slider and self.slider is not None:
            self.slider.GetRepresentation().SetValue(frame)
        self.plotter.render()

    def play_or_pause(self) -> None:
        """Start playing, or stop."""
        self.playing = not self.playing

    def tick(self) -> None:
        """Show the next frame if playing."""
        if self.playing:
            self.show((self.frame + 1) % len(self.trajectory), move_slider=True)

    def next_colour(self) -> None:
        """Colour by the next of FIELDS that the run has."""
        names = fields_of(self.trajectory)
        self.scene.colour_by = names[(names.index(self.scene.colour_by) + 1) % len(names)]
        self.scale()
        self.show(self.frame)

    def picked(self, place: Any, picker: Any) -> None:
        """Print the state of the body that was clicked on."""
        body = self.scene.body_at(picker.GetActor(), picker.GetPointId())
        if body is not None:
            self.say(state_of(self.trajectory, self.frame, body))


def window_bar(title: str, span: tuple[float, float], look: Look) -> Any:
    """The colour scale of a window: it keeps its place when the window changes its size."""
    import pyvista
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap
    from vtkmodules.vtkRenderingAnnotation import vtkScalarBarActor

    bar = vtkScalarBarActor()
    single = span[0] == span[1]
    colours: Any = ListedColormap([colormaps[look.colour_map](0.5)]) if single else look.colour_map
    bar.SetLookupTable(pyvista.LookupTable(colours, scalar_range=span))
    bar.SetTitle(title.replace(" (", "\n("))  # the unit in a line of its own
    bar.SetNumberOfLabels(1 if single else 5)
    bar.SetVerticalTitleSeparation(12)
    bar.SetPosition(0.86, 0.2)
    bar.SetWidth(0.09)
    bar.SetHeight(0.5)
    bar.SetUnconstrainedFontSize(True)
    for text in (bar.GetLabelTextProperty(), bar.GetTitleTextProperty()):
        text.SetFontFamily(4)  # VTK_FONT_FILE
        text.SetFontFile(str(FONT))
        text.SetColor(pyvista.Color(look.ink).float_rgb)
        text.SetFontSize(15)
        text.ItalicOff()
        text.ShadowOff()
        text.BoldOff()
    return bar


UNITS = {"position": " m", "velocity": " m/s", "orientation": "", "angular_velocity": " rad/s"}


def state_of(trajectory: Trajectory, frame: int, body: int) -> str:
    """Text with name, mass (kg), state and kinetic energy (J) of a body at a frame, as far as the run has recorded them."""
    state, clump = trajectory.frame(frame), trajectory.clumps[trajectory.species[body]].name
    lines = [f"body {body}, {clump}, {trajectory.mass[body]:.4g} kg, at {state.time:.6g} s"]
    for name, unit in UNITS.items():
        if name in trajectory.fields:
            numbers = ", ".join(f"{value:.6g}" for value in getattr(state, name)[body])
            lines.append(f"  {name.replace('_', ' '):<16}  ({numbers}){unit}")
    if "energy" in fields_of(trajectory):
        lines.append(f"  kinetic energy    {trajectory.kinetic_energy(state)[body]:.6g} J")
    return "\n".join(lines)
