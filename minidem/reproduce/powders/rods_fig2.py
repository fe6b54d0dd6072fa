"""Powders and Grains 2025, Fig. 2: total energy of bouncing rods against time, and the spin behind the instability."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ... import quaternions
from ...files.trajectory import ClumpTemplate, Trajectory
from ...study.plan import Study
from ...views.figures import new_figure
from ...views.styles import style_of
from ..outcome import Comparison, Outcome
from ..studies import DT, INTEGRATOR, Failed, Studies, account, study_of, varied

TITLE = "Powders and Grains 2025, Fig. 2: energy of the rods against time"
STEP = 38e-6  # s
QUICK_END = 15.0  # s; Fincham's scheme is unstable by then
UNSTABLE = 1.1  # energy relative to the initial one
HALF = "fincham-yade, dt / 2"
NOTES = (
    "the paper's text does not give the number of rods, the speeds and the duration; here 30 rods, 4 m/s and 4 rad/s. dt is "
    "38 us",
    "the authors' script never sets the angular momentum that Fincham's scheme in YADE integrates, so with that scheme the "
    "rods start without spin; here all runs start from the same motion",
    "contact forces act along lines through the axis of a rod, so the spin of each rod about its axis (that of the smallest "
    "moment of inertia, the paper's minor axis) must not change",
    "the paper calls the increase sudden; here the largest spin grows about exponentially from the start, and the total "
    "energy grows visibly once this spin holds a considerable part of it",
)

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Course:
    """Energy and axial spins of one run."""

    time: Array  # (rows,) of the energy log, s
    energy: Array  # (rows,) relative to the initial energy
    frame_time: Array  # (frames,) s
    spin: Array  # (frames, rods) rad/s, about the axis of each rod

    @property
    def largest_spin(self) -> Array:
        """Largest absolute spin of all rods, rad/s, shape (frames,)."""
        largest: Array = np.abs(self.spin).max(axis=1)
        return largest

    @property
    def most_changed(self) -> int:
        """Index of the rod whose spin changes most."""
        return int(np.abs(self.spin - self.spin[0]).max(axis=0).argmax())

    @property
    def change(self) -> float:
        """Largest change of a spin, rad/s."""
        return float(np.abs(self.spin - self.spin[0]).max())

    @property
    def unstable_from(self) -> float:
        """Time at which the energy first exceeds UNSTABLE, s; NaN if it does not."""
        above = self.time[self.energy > UNSTABLE]
        return float(above[0]) if above.size else float("nan")


def long_axis(clump: ClumpTemplate) -> Array:
    """Axis of the smallest moment of inertia in the clump's own frame, shape (3,)."""
    return np.asarray(np.linalg.eigh(clump.inertia)[1][:, 0])


def course_of(trajectory: Trajectory, initial_energy: float) -> Course:
    """The course of a run; `initial_energy` in J."""
    log = trajectory.observables
    axes = np.array([long_axis(clump) for clump in trajectory.clumps])[trajectory.species]
    in_world = quaternions.rotated(np.asarray(trajectory.orientation), axes)
    spin = (in_world * trajectory.angular_velocity).sum(axis=2)
    return Course(log["time"], log["total"] / initial_energy, trajectory.time, spin)


def compared(courses: Mapping[str, Course]) -> list[Comparison]:
    """What the paper says about energy and spin, and what was measured."""
    end = {"spiral": "as omelyan", "fincham-yade": "becomes unstable"}
    jump = {"fincham-yade": "sudden increase"}
    later = {HALF: "larger than with dt"}
    return [
        *(Comparison(f"{name}: energy at the end / start", end.get(name), c.energy[-1]) for name, c in courses.items()),
        *(Comparison(f"{name}: largest |E - E0| / E0", None, np.abs(c.energy - 1).max()) for name, c in courses.items()),
        *(
            Comparison(f"{name}: largest change of a rod's axial spin (rad/s)", jump.get(name), c.change)
            for name, c in courses.items()
        ),
        *(
            Comparison(f"{name}: time of E > {UNSTABLE} E0 (s)", later.get(name), c.unstable_from)
            for name, c in courses.items()
            if name.startswith("fincham-yade")
        ),
    ]


def drawn(courses: Mapping[str, Course]) -> Figure:
    """Panels of energy, energy deviation and axial spin."""
    figure, (energy, drift, spin) = new_figure(columns=3, width=11, height=3.4)
    for name, course in courses.items():
        style = style_of(name.partition(",")[0]) | {"marker": None, "linewidth": 1.2, "label": name}
        style |= {"linestyle": "--"} if name == HALF else {"linewidth": 3, "alpha": 0.6} if name == "omelyan" else {}
        energy.plot(course.time, course.energy, **style)
        drift.plot(course.time, np.abs(course.energy - 1), **style)
        spin.plot(course.frame_time, course.largest_spin, **style)
    unstable = courses["fincham-yade"]
    rod = unstable.most_changed
    one = {"color": "black", "linestyle": ":", "linewidth": 0.9, "label": f"fincham-yade, rod {rod}"}
    spin.plot(unstable.frame_time, np.abs(unstable.spin[:, rod]), **one)
    energy.set(ylabel="E / E0", title="Total energy")
    drift.set(yscale="log", ylim=(1e-6, None), ylabel="|E - E0| / E0", title="Energy deviation")
    spin.set(yscale="log", ylim=(1, None), ylabel="|spin| (rad/s)", title="Largest axial spin")
    for axis in figure.axes:
        axis.set_xlabel("time (s)")
    figure.legend(*spin.get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize=8)
    return figure


def table(courses: Mapping[str, Course]) -> dict[str, list[Any]]:
    """Columns of the CSV file: a row per row of the energy log, with the spin of the frames interpolated."""
    data: dict[str, list[Any]] = {"run": [], "time_s": [], "energy_ratio": [], "largest_axial_spin_rad_s": []}
    for name, course in courses.items():
        data["run"] += [name] * len(course.time)
        data["time_s"] += course.time.tolist()
        data["energy_ratio"] += course.energy.tolist()
        data["largest_axial_spin_rad_s"] += np.interp(course.time, course.frame_time, course.largest_spin).tolist()
    return data


def quick_study(study: Study) -> Study:
    """The study with a shorter duration and only the full step."""
    cells = [cell.changes for cell in study.cells if cell.changes[DT] == STEP]
    return varied(study, f"{study.name}-quick", cells, {"time.end": QUICK_END})


def reproduce(quick: bool, studies: Studies) -> Outcome:
    """The outcome of this target; `quick`: 15 s, without half the step."""
    study = study_of("rods-fig2")
    study = quick_study(study) if quick else study
    rows = studies.rows(study)
    if not all("energy_initial" in row for row in rows):  # runs stopped by a guard have it, and can be drawn
        raise Failed(account(rows))
    courses = {}
    for row in rows:
        with Trajectory(studies.folder(study) / "runs" / f"{row['cell']:06d}") as trajectory:
            name = row[INTEGRATOR] if row[DT] == STEP else HALF
            courses[name] = course_of(trajectory, row["energy_initial"])
    return Outcome(table(courses), drawn(courses), compared(courses), (*NOTES, account(rows)))
