"""The scenes: scenario files, and larger boxes with the same material."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .protocol import ROOT

if TYPE_CHECKING:
    from minidem import Scenario


@dataclass(frozen=True)
class Scene:
    """A scenario file and how it is timed."""

    name: str
    path: Path
    warm_up: int  # steps before the first timing, the same for every code
    times: int = 1  # factor on the volume and the number of bodies
    big: bool = False  # left out by --quick
    peers: bool = False  # also run by other codes


SCENES = {
    scene.name: scene
    for scene in (
        Scene("chess", ROOT / "scenarios/chess.toml", 2000, peers=True),
        Scene("rods", ROOT / "scenarios/rods.toml", 2000, peers=True),
        Scene("dense-10k", ROOT / "scenarios/dense.toml", 300, peers=True),
        Scene("dense-100k", ROOT / "scenarios/dense.toml", 300, times=10, big=True, peers=True),
        Scene("dense-1m", ROOT / "scenarios/dense.toml", 100, times=100, big=True),
        Scene("trimers", ROOT / "scenarios/trimers.toml", 100, peers=True),
        Scene("polydisperse", ROOT / "scenarios/polydisperse.toml", 300),
    )
}


def scene_of(name: str) -> Scene:
    """The scene with a name from SCENES, or of a scenario file."""
    return SCENES.get(name) or Scene(Path(name).stem, Path(name).resolve(), 100, peers=True)


def changes(scene: Scene) -> list[str]:
    """The `--set` options that turn the scenario file into the scene."""
    if scene.times == 1:
        return []
    import minidem

    scenario = minidem.load(scene.path)
    assert scenario.domain.box is not None
    box = [length * scene.times ** (1 / 3) for length in scenario.domain.box]
    # With a packing fraction, the number of bodies follows from the box.
    counts = [(i, place.count) for i, place in enumerate(scenario.place) if place.count is not None]
    return [f"domain.box={box}", *(f"place[{i}].count={count * scene.times}" for i, count in counts)]


def scenario_of(scene: Scene) -> "Scenario":
    """The scenario of a scene."""
    import minidem

    return minidem.load(scene.path, changes(scene))
