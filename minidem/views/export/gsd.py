"""GSD with the schema of HOOMD, for OVITO."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from ...errors import InputError
from ...files.whole import replacing
from .cloud import Cloud


def write_gsd(cloud: Cloud, path: Path) -> list[Path]:
    """Write GSD, which has 32-bit numbers and a box centred at the origin.

    Positions are relative to the middle of the box, or of what the points fill in open space; it is stored in `log/middle`.
    """
    try:
        import gsd.hoomd
    except ImportError:
        raise InputError("--format gsd: needs the package gsd; pip install 'minidem[export]', or pip install gsd") from None
    low, high = cloud.bounds
    middle = (low + high) / 2
    with replacing(path) as new, ascii_name(new) as name, gsd.hoomd.open(name, "w") as file:
        for snapshot in cloud:
            frame = gsd.hoomd.Frame()
            frame.configuration.step, frame.configuration.box = snapshot.step, [*(high - low), 0, 0, 0]
            particles = frame.particles
            particles.N, particles.types = len(cloud.body), cloud.ascii_names
            particles.typeid, particles.body = cloud.fixed["species"], cloud.fixed["body"]
            particles.diameter, particles.position = 2 * cloud.fixed["radius"], snapshot.position - middle
            particles.velocity, particles.orientation = snapshot.moving["velocity"], snapshot.moving["quaternion"]
            frame.log["time"], frame.log["middle"] = np.array([snapshot.time]), middle
            if "sphere" not in cloud.fixed:
                particles.mass = cloud.fixed["body_mass"]
            for name in ("body_speed", "angular_velocity", "kinetic_energy"):
                frame.log[f"particles/{name}"] = snapshot.moving[name].astype(np.float32)
            file.append(frame)
    return [path]


@contextmanager
def ascii_name(path: Path) -> Iterator[str]:
    """A name in ASCII of the file to write, since gsd takes UTF-8 only: its own, or that of a link to it."""
    if str(path).isascii():
        yield str(path)
        return
    with tempfile.TemporaryDirectory() as folder:
        link = Path(folder) / "link.gsd"
        link.symlink_to(path.absolute())
        yield str(link)
