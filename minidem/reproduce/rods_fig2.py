"""SPIRAL in Powders and Grains 2025, Fig. 2: the total energy of bouncing rods against time, and what goes wrong."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from .. import quaternions
from ..figures import new_figure, style_of
from ..trajectory import ClumpTemplate, Trajectory
from ._studies import INTEGRATOR, Row, Studies, account, study_of, varied
from .outcome import Comparison, Outcome

TITLE = "Powders and Grains 2025, Fig. 2: energy of the rods against time"
QUICK_END = 10.0  # s
UNSTABLE = 1.1  # energy over its first value
NOTES = (
    "the paper's text gives no number of rods, no speeds and no duration: 30 rods, 4 m/s, 4 rad/s, 20 s (--quick: 10 s) here",
    "the authors' script never sets the angular momentum that Fincham's scheme in YADE integrates, so that its rods start "
    "without spin with that scheme; here all three schemes start from the same motion",
    "contact forces act along lines through the axis of a rod, so that the spin about the axis (that of the smallest moment "
    "of inertia, the paper's minor axis) must stay what it was for each rod",
)

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Course:
    """Of one run."""

    time: Array  # (rows,) of the energy log, s
    energy: Array  # (rows,) over its first value
    frame_time: Array  # (frames,) s
    spin: Array  # (frames, rods) about the axis of each rod, rad/s

    @property
    def largest_spin(self) -> Array:
        """(frames,) over the rods"""
        return np.abs(self.spin).max(axis=1)

    @property
    def jumper(self) -> int:
        """The rod whose spin changes most."""
        return int(np.abs(self.spin - self.spin[0]).max(axis=0).argmax())

    @property
    def change(self) -> float:
        return float(np.abs(self.spin - self.spin[0]).max())

    @property
    def unstable_from(self) -> float:
        """s; NaN if it stays stable"""
        above = self.time[self.energy > UNSTABLE]
        return float(above[0]) if above.size else float("nan")


def long_axis(clump: ClumpTemplate) -> Array:
    """Of the smallest moment of inertia, in the clump as given."""
    return np.linalg.eigh(clump.inertia)[1][:, 0]


def course_of(trajectory: Trajectory, initial_energy: float) -> Course:
    log = trajectory.observables
    axes = np.array([long_axis(clump) for clump in trajectory.clumps])[trajectory.species]
    in_world = quaternions.rotated(trajectory.orientation, axes)
    spin = (in_world * trajectory.angular_velocity).sum(axis=2)
    return Course(log["time"], log["total"] / initial_energy, trajectory.time, spin)


def compared(courses: Mapping[str, Course]) -> list[Comparison]:
    words = {"spiral": "as omelyan", "fincham-yade": "becomes unstable"}
    jump = {"fincham-yade": "sudden increase"}
    return [
        *(Comparison(f"{name}: energy at the end / start", words.get(name), c.energy[-1]) for name, c in courses.items()),
        *(Comparison(f"{name}: largest |E - E0| / E0", None, np.abs(c.energy - 1).max()) for name, c in courses.items()),
        *(
            Comparison(f"{name}: largest change of a spin about the axis (rad/s)", jump.get(name), c.change)
            for name, c in courses.items()
        ),
        Comparison(f"fincham-yade: time of E > {UNSTABLE} E0 (s)", None, courses["fincham-yade"].unstable_from),
    ]


def drawn(courses: Mapping[str, Course]) -> Figure:
    figure, (left, right) = new_figure(columns=2)
    for name, course in courses.items():
        style = style_of(name) | {"marker": None, "linewidth": 1.2}
        left.plot(course.time, course.energy, **style)
        right.plot(course.frame_time, course.largest_spin, **style)
    unstable = courses["fincham-yade"]
    rod = unstable.jumper
    jump = np.abs(unstable.spin[:, rod])
    right.plot(unstable.frame_time, jump, color="black", linewidth=0.8, linestyle=":", label=f"fincham-yade, rod {rod}")
    left.set(xlabel="time (s)", ylabel="energy / energy at the start", title="Total energy")
    right.set(xlabel="time (s)", ylabel="|spin| (rad/s)", title="Spin about the axis, largest of all rods")
    for axis in (left, right):
        axis.legend(fontsize=8, loc="upper left")
    return figure


def table(courses: Mapping[str, Course]) -> dict[str, list[Any]]:
    """Rows of the energy log, with the spins where there is a frame."""
    data: dict[str, list[Any]] = {"integrator": [], "time_s": [], "energy_ratio": [], "largest_axial_spin_rad_s": []}
    for name, course in courses.items():
        data["integrator"] += [name] * len(course.time)
        data["time_s"] += course.time.tolist()
        data["energy_ratio"] += course.energy.tolist()
        data["largest_axial_spin_rad_s"] += np.interp(course.time, course.frame_time, course.largest_spin).tolist()
    return data


def reproduce(quick: bool, studies: Studies) -> Outcome:
    study = study_of("rods-fig2")
    if quick:
        study = varied(study, f"{study.name}-quick", [cell.changes for cell in study.cells], {"time.end": QUICK_END})
    rows: list[Row] = studies.rows(study)
    courses = {}
    for row in rows:
        with Trajectory(studies.folder(study) / "runs" / f"{row['cell']:06d}") as trajectory:
            courses[row[INTEGRATOR]] = course_of(trajectory, row["energy_initial"])
    return Outcome(table(courses), drawn(courses), compared(courses), (*NOTES, account(rows)))
