"""What a run recorded, as tables of pandas and xarray."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..notebook import card
from .series import FRAME, VECTORS

if TYPE_CHECKING:
    import pandas
    import xarray

    from .trajectory import Trajectory

AXES = ("x", "y", "z")


def needed(package: str) -> Any:
    """A package that the extra "analysis" installs; ImportError with the remedy if it is missing."""
    try:
        return import_module(package)
    except ImportError:
        raise ImportError(f"{package} is not installed; install it with: pip install 'minidem[analysis]'") from None


class EnergyLog(dict[str, NDArray[Any]]):
    """The energy log: arrays by name. step, time (s), the energies (J), edge_error (J), momentum (rows, 3) (kg m/s) and
    angular_momentum (rows, 3) (J s)."""

    def to_dataframe(self) -> "pandas.DataFrame":
        """The log as a pandas.DataFrame with a row for each time; vectors have a column for each component, as momentum_x.
        ``attrs["units"]`` has the units."""
        columns: dict[str, NDArray[Any]] = {}
        for name, values in self.items():
            columns |= (
                {f"{name}_{axis}": values[:, k] for k, axis in enumerate(AXES)} if values.ndim == 2 else {name: values}
            )
        frame: pandas.DataFrame = needed("pandas").DataFrame(columns)
        units = {name: VECTORS.get(name.rpartition("_")[0], "J") for name in columns}
        frame.attrs["units"] = units | {"step": "1", "time": "s"}
        return frame

    def __repr__(self) -> str:
        return f"<EnergyLog, {self._rows}: {', '.join(self)}>"

    def _repr_html_(self) -> str:
        ends = {
            name: f"{values[0]:.6g}, {values[-1]:.6g}" for name, values in self.items() if values.ndim == 1 and values.size
        }
        return card(f"Energy log, {self._rows}: first and last value", ends)

    @property
    def _rows(self) -> str:
        time = self["time"]
        return f"{len(time)} rows" + (f" from {time[0]:.6g} to {time[-1]:.6g} s" if time.size else "")


def dataset_of(trajectory: "Trajectory", frames: slice) -> "xarray.Dataset":
    """The chosen frames as an xarray.Dataset; see Trajectory.to_xarray."""
    make = needed("xarray").Dataset
    last = {3: ("component", list(AXES)), 4: ("quaternion", ["w", *AXES])}
    time, step = trajectory.time, trajectory.step
    start, stop, stride = frames.indices(min(len(time), len(step)))  # a running simulation may add more
    frames = slice(start, None if stop < 0 else stop, stride)
    variables: dict[str, Any] = {}
    coordinates: dict[str, Any] = {}
    for name in trajectory.fields:
        size, unit = FRAME[name]
        dimension, labels = last[size]
        variables[name] = (("time", "body", dimension), getattr(trajectory, name)[frames], {"units": unit})
        coordinates[dimension] = labels
    names = np.array([clump.name for clump in trajectory.clumps], dtype=object).astype(str)
    coordinates |= {
        "time": ("time", time[frames], {"units": "s"}),
        "step": ("time", step[frames]),
        "body": np.arange(trajectory.mass.size),
        "mass": ("body", trajectory.mass, {"units": "kg"}),
        "clump": ("body", names[trajectory.species]),
    }
    dataset: xarray.Dataset = make(variables, coordinates, {"scenario": trajectory.scenario})
    return dataset
