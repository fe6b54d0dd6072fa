"""What is timed: scenario files, and larger boxes of the same stuff."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .protocol import ROOT

if TYPE_CHECKING:
    from minidem import Scenario


@dataclass(frozen=True)
class Scene:
    name: str
    path: Path
    warm_up: int  # steps before the first timing, the same for every code
    times: int = 1  # so many times the volume, and the bodies
    big: bool = False  # left out by --quick
    peers: bool = False  # run in the other codes too


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
    """By its name, or any scenario file."""
    return SCENES.get(name) or Scene(Path(name).stem, Path(name).resolve(), 100, peers=True)


def changes(scene: Scene) -> list[str]:
    """The `--set` options that make the scene of its scenario file."""
    if scene.times == 1:
        return []
    import minidem

    scenario = minidem.load(scene.path)
    assert scenario.domain.box is not None
    box = [length * scene.times ** (1 / 3) for length in scenario.domain.box]
    # Where a packing fraction is given, the number of bodies follows from the box.
    counts = [(i, place.count) for i, place in enumerate(scenario.place) if place.count is not None]
    return [f"domain.box={box}", *(f"place[{i}].count={count * scene.times}" for i, count in counts)]


def scenario_of(scene: Scene) -> "Scenario":
    import minidem

    return minidem.load(scene.path, changes(scene))
