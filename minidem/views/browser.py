"""A run in a web browser: pictures are drawn here and sent to the page, which follows a running simulation."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

from ..errors import InputError
from ..files.trajectory import Trajectory
from .camera import aim, light
from .colours import fields_of
from .plotter import new_plotter
from .scene import Scene
from .space import shown_space, some_frames

HOST = "127.0.0.1"  # loopback: only this machine can connect, or who forwards the port
SIZE = (900, 700)  # pixels, until the page says how large it is
LOOK = 1.0  # s between two looks for new frames
PLAYS_AT = 0.1  # s between two frames
INSTALL = "the browser view needs trame; install it with: pip install 'minidem[browser]'"


def check_trame() -> None:
    """Raise InputError unless trame is installed."""
    try:
        import trame.app
        import trame.widgets.vtk
        import trame.widgets.vuetify3  # noqa: F401
    except ImportError:
        raise InputError(INSTALL) from None


class BrowserView:
    """The page of a trajectory: a scene to turn and zoom, a time slider, and buttons to play, to follow and to colour."""

    def __init__(self, trajectory: Trajectory, frame: int, colour_by: str, spheres: bool, name: str):
        check_trame()
        from trame.app import get_server
        from vtkmodules.vtkInteractionStyle import vtkInteractorStyleSwitch  # noqa: F401 - registers the styles
        from vtkmodules.vtkRenderingUI import vtkGenericRenderWindowInteractor

        self.trajectory, self.name = trajectory, name
        self.plotter = new_plotter(SIZE, off_screen=True)
        space = shown_space(trajectory, some_frames(trajectory))
        self.scene = Scene(self.plotter, trajectory, space, colour_by, spheres)
        self.scene.use(colour_by, some_frames(trajectory))
        light(self.plotter, space.size, shadows=0)
        aim(self.plotter, space.corners)
        self.interactor = vtkGenericRenderWindowInteractor()
        self.interactor.SetRenderWindow(self.plotter.render_window)
        style: Any = self.interactor.GetInteractorStyle()
        style.SetCurrentStyleToTrackballCamera()
        self.server: Any = get_server("minidem", client_type="vue3")
        self.state = self.server.state
        self.state.update(
            {"frame": frame, "last": len(trajectory) - 1, "playing": False, "follow": trajectory.may_grow, "caption": ""}
        )
        self.state.colour, self.state.trame__title = colour_by, f"minidem {name}"
        self.state.change("frame", "colour")(self.draw)
        self.lay_out()
        self.draw()
        self.server.controller.on_server_ready.add_task(self.look)
        self.server.controller.on_server_ready.add_task(self.play)

    def lay_out(self) -> None:
        """Make the page."""
        from trame.ui.vuetify3 import VAppLayout
        from trame.widgets import vtk
        from trame.widgets import vuetify3 as vuetify

        with VAppLayout(self.server) as layout, layout.root:
            with vuetify.VMain(), vuetify.VContainer(fluid=True, classes="pa-0 fill-height"):
                view = vtk.VtkRemoteView(self.plotter.render_window, interactive_ratio=1, still_quality=95)
                self.update: Callable[[], Any] = view.update
            with vuetify.VFooter(app=True, classes="py-0"):
                button = {"density": "compact", "variant": "text", "classes": "mx-1"}
                vuetify.VBtn("{{ playing ? 'pause' : 'play' }}", id="play", click="playing = !playing", **button)
                vuetify.VSlider(
                    v_model=("frame", 0), min=0, max=("last",), step=1, hide_details=True, id="time", classes="mx-4"
                )
                vuetify.VBtn("{{ follow ? 'following' : 'follow' }}", id="follow", click="follow = !follow", **button)
                colours = {"items": ("colours", fields_of(self.trajectory)), "density": "compact", "hide_details": True}
                vuetify.VSelect(v_model=("colour", "species"), style="max-width: 9em", variant="plain", **colours)
                vuetify.VLabel("{{ caption }}", id="caption", classes="mx-2", style="min-width: 15em")

    def draw(self, **_: Any) -> None:
        """Draw the frame and the colours that the page asks for."""
        frame = min(max(int(self.state.frame), 0), len(self.trajectory) - 1)
        if self.state.colour != self.scene.colour_by and self.state.colour in fields_of(self.trajectory):
            self.scene.use(self.state.colour, some_frames(self.trajectory))
        shown = self.trajectory.frame(frame)
        self.scene.show(shown)
        self.plotter.render()
        self.state.caption = f"frame {frame} of {self.state.last}, {shown.time:.4g} s"
        self.update()

    async def look(self, **_: Any) -> None:
        """Look for new frames of a running simulation; show the last one while following."""
        while True:
            with contextlib.suppress(InputError):  # it is just being replaced
                last = len(self.trajectory) - 1
                if last != self.state.last:
                    with self.state:
                        self.state.last = last
                        if self.state.follow:
                            self.state.frame = last
            await asyncio.sleep(LOOK)

    async def play(self, **_: Any) -> None:
        """Show one frame after the other while playing."""
        while True:
            if self.state.playing:
                with self.state:
                    self.state.frame = (int(self.state.frame) + 1) % (self.state.last + 1)
            await asyncio.sleep(PLAYS_AT)

    def serve(self, port: int, say: Callable[[str], None]) -> None:
        """Serve the page until Ctrl-C; `say` gets the address. With port 0 a free one is taken."""
        self.server.controller.on_server_ready.add(lambda **_: say(f"http://{HOST}:{self.server.port}/"))
        try:
            self.server.start(
                port=port, host=HOST, open_browser=False, show_connection_info=False, disable_logging=True, timeout=0
            )
        except OSError as error:
            raise InputError(f"--port {port}: {error.strerror}; give another, or leave it out") from None
