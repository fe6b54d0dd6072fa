"""Figures of studies, from invented records, and of runs: numbers against closed forms, and the content of the figures."""

import csv
import json
import math
import shutil

import h5py
import numpy as np
import pytest
from disk import file_size_limit

import minidem
from minidem.errors import InputError
from minidem.scenario.reading import parse
from minidem.study.plan import parse_study
from minidem.study.records import Records, prepare_directory
from minidem.views.figures import Plot
from minidem.views.plots import kind_of, plot_of, stem_of, write
from minidem.views.run_plots import runs_plot
from minidem.views.study_plots import slope_of, standard_error, study_figure, study_plot
from minidem.views.styles import style_of, styles_of

BOX = """\
name = "box"
time = {dt = 4e-5, end = 0.04}
domain = {box = [0.5, 0.4, 0.3], material = "plastic"}
material.plastic = {young = 1e9, poisson = 0.1, density = 2500}
clump.rod = {spheres = [[-0.03, 0, 0, 0.02], [0, 0, 0, 0.02], [0.03, 0, 0, 0.02]], material = "plastic"}
place = [{clump = "rod", count = 4, speed = 4, spin = 10}]
output = {frames = 3, energies = 11}
"""
RAYLEIGH = 2e-4  # s
AXES = 'dt = [1e-5, 2e-5, 4e-5]\nintegrator = ["spiral", "buss"]\nseed = {first = 0, count = 3}'


def scaled(changes):
    """c dt^2 for spiral, c dt for others, the third of the seeds four times as large as the first."""
    order = 2 if changes.get("integrator.rotation", "spiral") == "spiral" else 1
    return (1 + changes.get("seed", 0)) ** 2 * (changes.get("time.dt", 4e-5) / 1e-2) ** order


@pytest.fixture
def study_dir(tmp_path):
    """Makes a study directory from axes (TOML) and the deviation of each run, None if it failed, "missing" if not run."""
    (tmp_path / "box.toml").write_text(BOX)

    def make(
        axes=AXES, deviation=scaled, step=lambda changes: changes.get("time.dt", 4e-5), rayleigh=lambda changes: RAYLEIGH
    ):
        study = parse_study(f'name = "sweep"\nscenario = "box.toml"\n[axes]\n{axes}\n', "sweep.toml", tmp_path)
        directory = tmp_path / "sweep"
        prepare_directory(directory, study)
        with Records(directory / "records.jsonl") as records:
            for cell in study.cells:
                value = deviation(cell.changes)
                if value == "missing":
                    continue
                record = {"cell": cell.number, "status": "ok", "reason": ""}
                if value is None:
                    record |= {"status": "failed", "reason": "it blew up"}
                    value = 1e9  # must not be used
                dt = step(cell.changes)
                record |= {"dt": dt, "dt_rayleigh": dt / rayleigh(cell.changes)}
                records.add(record | {"drift_mean": value, "drift_last": 3 * value, "drift_max": 5 * value})
        return directory

    return make


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory):
    directory = tmp_path_factory.mktemp("runs") / "spiral"
    minidem.run(parse(BOX), directory, text=BOX, threads=1)
    return directory


def points_of(plot, label):
    return next(line["points"] for line in plot.report["lines"] if line["label"] == label)


def slopes_of(plot):
    return {line["label"]: line["slope"] for line in plot.report["lines"]}


def texts_of(axis):
    return [text.get_text() for text in axis.texts]


# --- numbers of studies --------------------------------------------------------------------------------------


def test_mean_and_standard_error(study_dir):
    """1, 4 and 9 have the mean 14/3 and the sample variance 49/3."""
    plot = study_plot(study_dir())
    assert list(plot.data) == ["integrator", "dt", "runs", "mean", "standard_error", "min", "max", "failed"]
    assert plot.data["integrator"] == ["spiral"] * 3 + ["buss"] * 3
    assert plot.data["dt"] == [1e-5, 2e-5, 4e-5] * 2
    assert plot.data["runs"] == [3] * 6 and plot.data["failed"] == [0] * 6
    unit = np.array([(dt / 1e-2) ** order for order in (2, 1) for dt in (1e-5, 2e-5, 4e-5)])
    assert plot.data["mean"] == pytest.approx(14 / 3 * unit, rel=1e-12)
    assert plot.data["standard_error"] == pytest.approx(math.sqrt(49 / 3 / 3) * unit, rel=1e-12)
    assert plot.data["min"] == pytest.approx(unit, rel=1e-12)
    assert plot.data["max"] == pytest.approx(9 * unit, rel=1e-12)


def test_slopes_are_the_orders(study_dir):
    assert slopes_of(study_plot(study_dir())) == pytest.approx({"spiral": 2.0, "buss": 1.0}, rel=1e-12)


def test_slope_is_fitted_to_the_means():
    """The least-squares slope of (0, 0), (1, 1), (2, 4) in logarithms is 2."""
    assert slope_of([1, math.e, math.e**2], [[1, 1], [math.e], [math.e**4]]) == pytest.approx(2.0, rel=1e-12)
    assert slope_of([1, 2, 4], [[0.0], [1.0, 3.0], [8.0]]) == pytest.approx(2.0, rel=1e-12)  # zero has no logarithm
    assert slope_of([1], [[1.0, 2.0]]) is None and slope_of([0, 1], [[1.0], [2.0]]) is None


def test_one_run_has_no_standard_error(study_dir):
    assert math.isnan(standard_error([1.0])) and standard_error([1.0, 3.0]) == 1.0
    plot = study_plot(study_dir('dt = [1e-5, 2e-5]\nintegrator = ["spiral"]'))
    assert plot.data["runs"] == [1, 1] and plot.data["standard_error"] == [None, None]
    assert plot.data["mean"] == pytest.approx([1e-6, 4e-6], rel=1e-12)


@pytest.mark.parametrize(
    ("measure", "factor", "word"), [("mean", 1, "mean of"), ("last", 3, "at the end"), ("max", 5, "largest")]
)
def test_measures(study_dir, measure, factor, word):
    plot = study_plot(study_dir(), measure)
    assert plot.data["min"][0] == pytest.approx(factor * 1e-6, rel=1e-12)
    assert word in plot.figure.axes[0].get_ylabel() and plot.report["measure"] == measure


def test_measure_of_the_paper_is_the_smaller(study_dir):
    directory = study_dir("dt = [1e-5, 2e-5]")
    lines = [json.loads(line) for line in (directory / "records.jsonl").read_text().splitlines()]
    lines[1] |= {"drift_last": 0.5 * lines[1]["drift_mean"]}
    (directory / "records.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    plot = study_plot(directory, "paper")
    assert plot.data["mean"] == pytest.approx([1e-6, 2e-6], rel=1e-12)
    assert "smaller of mean and last" in plot.figure.axes[0].get_ylabel()


def test_failed_runs_do_not_count(study_dir):
    """Only seeds 0 and 1 are left, 1 and 4: mean 5/2, standard error 3/2."""
    directory = study_dir(deviation=lambda c: None if c["seed"] == 2 and c["time.dt"] == 4e-5 else scaled(c))
    plot = study_plot(directory)
    assert plot.data["failed"] == [0, 0, 1, 0, 0, 1] and plot.data["runs"] == [3, 3, 2, 3, 3, 2]
    assert plot.data["mean"][2] == pytest.approx(2.5 * 16e-6, rel=1e-12)
    assert plot.data["standard_error"][2] == pytest.approx(1.5 * 16e-6, rel=1e-12)
    assert plot.report["failed"] == 2 and "2 failed runs left out" in plot.figure.axes[0].get_title()
    drawn = [value for line in plot.figure.axes[0].lines if line.get_linestyle() == "None" for value in line.get_ydata()]
    assert len(drawn) >= 16 and max(drawn) < 1


def test_point_of_failed_runs_alone(study_dir):
    plot = study_plot(study_dir(deviation=lambda c: None if c["time.dt"] == 4e-5 else scaled(c)))
    assert points_of(plot, "spiral")[2] == {
        **{"x": 4e-5, "runs": 0, "failed": 3},
        **dict.fromkeys(("mean", "standard_error", "min", "max")),
    }
    assert slopes_of(plot)["spiral"] == pytest.approx(2.0, rel=1e-12)


def test_line_of_failed_runs_alone(study_dir):
    """It is in the numbers, not in the figure."""
    plot = study_plot(study_dir(deviation=lambda c: None if c["integrator.rotation"] == "buss" else scaled(c)))
    assert slopes_of(plot) == {"spiral": pytest.approx(2.0), "buss": None}
    assert [name for name in names_of(plot.figure) if "order" not in name] == ["spiral"]


def test_run_without_a_deviation_is_left_out(study_dir):
    """A run that starts without energy has no deviation, although it ended well."""
    directory = study_dir("dt = [1e-5, 2e-5]")
    records = [json.loads(line) for line in (directory / "records.jsonl").read_text().splitlines()]
    records[0]["drift_mean"] = None
    (directory / "records.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    plot = study_plot(directory)
    assert plot.data["runs"] == [0, 1] and plot.data["failed"] == [1, 0]


def test_study_that_goes_on(study_dir):
    """A line that is being written does not count."""
    directory = study_dir(deviation=lambda c: "missing" if c["seed"] == 2 or c["time.dt"] == 1e-5 else scaled(c))
    with open(directory / "records.jsonl", "a") as file:
        file.write('{"cell": 0, "status": "o')
    plot = study_plot(directory)
    assert (plot.report["ended"], plot.report["cells"], plot.report["failed"]) == (8, 18, 0)
    assert plot.figure.axes[0].get_title() == "sweep; 8 of 18 runs have ended"
    assert plot.data["runs"] == [0, 2, 2, 0, 2, 2]
    assert slopes_of(plot)["spiral"] == pytest.approx(2.0, rel=1e-12)


def test_finished_study_is_just_named(study_dir):
    assert study_plot(study_dir()).figure.axes[0].get_title() == "sweep"


@pytest.mark.filterwarnings("error")
def test_deviation_of_nothing(study_dir):
    plot = study_plot(study_dir(deviation=lambda c: 0.0))
    assert plot.data["mean"] == [0.0] * 6 and slopes_of(plot) == {"spiral": None, "buss": None}
    plot.figure.draw_without_rendering()


# --- axes and lines ------------------------------------------------------------------------------------------


def test_other_axes_make_lines(study_dir):
    axes = 'dt = [4e-5, 1e-5]\n"material.plastic.young" = [1e8, 1e9]\nintegrator = ["spiral", "buss"]\nseed = [0, 5]'
    plot = study_plot(study_dir(axes))
    expected = [f"{name}, material.plastic.young = {young}" for young in ("1e+08", "1e+09") for name in ("spiral", "buss")]
    assert [line["label"] for line in plot.report["lines"]] == expected
    assert list(plot.data)[:3] == ["integrator", "material.plastic.young", "dt"]
    assert plot.data["dt"] == [1e-5, 4e-5] * 4  # ascending, whatever the order in the study
    assert len(plot.data["mean"]) == 8 and plot.data["runs"] == [2] * 8


def test_integrator_of_the_base_scenario_names_the_line(study_dir):
    plot = study_plot(study_dir("dt = [1e-5, 2e-5]\nseed = [0, 1]"))
    assert slopes_of(plot) == pytest.approx({"spiral": 2.0})
    assert plot.data["integrator"] == ["spiral", "spiral"]


@pytest.mark.parametrize(
    ("speeds", "scale"), [([1, 2, 4], "linear"), ([1, 2, 10], "linear"), ([1, 2, 11], "log"), ([0, 20, 40], "linear")]
)
def test_another_number_on_the_x_axis(study_dir, speeds, scale):
    axes = f'integrator = ["spiral", "buss"]\n"place[0].speed" = {speeds}\nseed = [0, 1]'
    plot = study_plot(study_dir(axes, deviation=lambda c: 1e-6 * (1 + c["place[0].speed"])))
    assert plot.report["x"] == "place[0].speed" and plot.data["place[0].speed"] == speeds * 2
    axis = plot.figure.axes[0]
    assert axis.get_xscale() == scale and axis.get_yscale() == "log" and axis.get_xlabel() == "place[0].speed"
    assert plot.figure.axes[0].child_axes == [] and texts_of(axis) == []  # neither Rayleigh times nor orders


def test_steps_in_rayleigh_times(study_dir):
    """They are drawn in seconds, as computed by the runs."""

    def step(changes):
        return float(changes["time.dt"].split()[0]) * RAYLEIGH

    axes = 'dt = ["0.05 rayleigh", "0.2 rayleigh", "0.1 rayleigh"]'
    plot = study_plot(study_dir(axes, deviation=lambda c: step(c) ** 2, step=step))
    assert plot.data["dt"] == pytest.approx([0.05 * RAYLEIGH, 0.1 * RAYLEIGH, 0.2 * RAYLEIGH], rel=1e-12)
    assert slopes_of(plot)["spiral"] == pytest.approx(2.0, rel=1e-9)


def test_no_axis_to_plot_against(study_dir):
    with pytest.raises(InputError, match=r"sweep: no axis to plot against: integrator.rotation, seed varies.*axis dt"):
        study_plot(study_dir('integrator = ["spiral", "buss"]\nseed = [0, 1]\ndt = [1e-5]'))


# --- the figure of a study -----------------------------------------------------------------------------------


def names_of(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_rayleigh_axis(study_dir):
    """The largest step is a fifth of the Rayleigh time: an axis, but no mark, and the data fill the figure."""
    plot = study_plot(study_dir())
    assert plot.report["rayleigh_time"] == pytest.approx(RAYLEIGH, rel=1e-12)
    axis = plot.figure.axes[0]
    plot.figure.draw_without_rendering()
    (above,) = axis.child_axes
    assert above.get_xlim() == pytest.approx([limit / RAYLEIGH for limit in axis.get_xlim()], rel=1e-9)
    assert axis.get_xlim()[1] < 5e-5 and "Rayleigh time" not in names_of(plot.figure)


def test_rayleigh_time_is_marked_where_data_reach_it(study_dir):
    plot = study_plot(study_dir(rayleigh=lambda c: 2e-5))
    axis = plot.figure.axes[0]
    (mark,) = [line for line in axis.lines if line.get_linestyle() == "--" and line.get_xdata()[0] == line.get_xdata()[1]]
    assert mark.get_xdata()[0] == pytest.approx(2e-5) and "Rayleigh time" in names_of(plot.figure)


@pytest.mark.parametrize(("rayleigh", "axes"), [(3.9e-4, 1), (4.1e-4, 0), (1.0, 0)])
def test_far_rayleigh_time_has_no_axis(study_dir, rayleigh, axes):
    """The largest step is 4e-5 s: none is near it."""
    assert len(study_plot(study_dir(rayleigh=lambda c: rayleigh)).figure.axes[0].child_axes) == axes


def test_several_rayleigh_times_have_no_axis(study_dir):
    axes = 'dt = [1e-5, 2e-5]\n"material.plastic.young" = [1e8, 1e9]'
    plot = study_plot(study_dir(axes, rayleigh=lambda c: 2.0 / math.sqrt(c["material.plastic.young"])))
    assert plot.report["rayleigh_time"] is None and plot.figure.axes[0].child_axes == []


def test_guides_have_their_slopes():
    lines = {"spiral": ([1e-5, 1e-4], [[1e-8, 2e-8], [1e-6]]), "buss": ([1e-5, 1e-4], [[1e-6], [1e-5]])}
    figure = study_figure(lines)
    axis = figure.axes[0]
    guides = [line for line in axis.lines if line.get_color() == "0.6"]
    slopes = [np.diff(np.log(line.get_ydata()))[0] / np.diff(np.log(line.get_xdata()))[0] for line in guides]
    assert slopes == pytest.approx([1.0, 2.0], rel=1e-9)
    assert len({line.get_linestyle() for line in guides}) == 2
    assert texts_of(axis) == [] and set(names_of(figure)) == {"spiral", "buss", "order 1", "order 2"}  # no text on curves
    bottom, top = axis.get_ylim()
    assert all(bottom < y < top for line in guides for y in line.get_ydata())


def test_lines_bars_and_faint_points():
    axis = study_figure({"spiral": ([1e-5, 1e-4], [[1e-8, 3e-8], [1e-6]])}, orders=()).axes[0]
    runs = axis.lines[0]
    assert runs.get_xdata().tolist() == [1e-5, 1e-5, 1e-4] and runs.get_ydata().tolist() == [1e-8, 3e-8, 1e-6]
    assert runs.get_linestyle() == "None" and runs.get_alpha() < 0.5
    (bars,) = axis.containers
    mean, _, (vertical,) = bars.lines
    assert mean.get_ydata() == pytest.approx([2e-8, 1e-6])
    assert mean.get_color() == style_of("spiral")["color"] and mean.get_marker() == style_of("spiral")["marker"]
    assert vertical.get_segments()[0][:, 1] == pytest.approx([1e-8, 3e-8])


def test_styles():
    labels = [f"spiral, seed = {k}" for k in range(20)]
    others = styles_of(labels)
    assert [look["label"] for look in others] == labels
    assert len({(look["color"], look["linestyle"], look["marker"]) for look in others}) == 20
    assert len({(look["linestyle"], look["marker"]) for look in others}) == 20  # in grey, too


# --- runs ----------------------------------------------------------------------------------------------------


def test_run(run_dir):
    plot = plot_of([run_dir])
    assert list(plot.data) == ["run", "integrator", "dt", "step", "time", "total", "deviation"]
    assert plot.data["step"] == list(range(0, 1001, 100)) and plot.data["dt"] == [4e-5] * 11
    assert plot.data["time"] == [step * 4e-5 for step in plot.data["step"]]
    (report,) = plot.report["runs"]
    energy = json.loads((run_dir / "manifest.json").read_text())["summary"]["energy"]
    for name in ("drift_mean", "drift_last", "drift_max"):
        assert report[name] == pytest.approx(energy[name], rel=1e-12)
    total = np.array(plot.data["total"])
    assert plot.data["deviation"] == pytest.approx(np.abs(total - energy["initial"]) / energy["initial"], rel=1e-12)
    assert report["drift_max"] > 0
    energies, deviations = plot.figure.axes
    assert [line.get_label() for line in energies.lines] == [
        "kinetic, translational",
        "kinetic, rotational",
        "elastic",
        "total",
    ]
    parts = [line.get_ydata() for line in energies.lines]
    assert sum(parts[:3]) == pytest.approx(parts[3], rel=1e-12)
    assert [line.get_label() for line in deviations.lines] == ["spiral, dt 4e-05 s"] and deviations.get_yscale() == "log"


def test_gravity_is_drawn_where_there_is_some(tmp_path):
    scenario = parse(BOX).with_changes({"domain.gravity": (0, 0, -9.81), "time.end": 4e-4})
    minidem.run(scenario, tmp_path / "run", threads=1)
    energies, _ = plot_of([tmp_path / "run"]).figure.axes
    assert [line.get_label() for line in energies.lines][3:] == ["gravity", "total"]


def test_several_runs(run_dir, tmp_path):
    minidem.run(parse(BOX).with_changes({"integrator.rotation": "omelyan"}), tmp_path / "omelyan", threads=1)
    plot = plot_of([run_dir, tmp_path / "omelyan", run_dir])  # the same run twice counts once
    labels = ["spiral, dt 4e-05 s", "omelyan, dt 4e-05 s"]
    assert [run["label"] for run in plot.report["runs"]] == labels
    assert plot.data["run"] == [str(run_dir)] * 11 + [str(tmp_path / "omelyan")] * 11
    for axis in plot.figure.axes:
        assert [line.get_label() for line in axis.lines] == labels
        assert [line.get_color() for line in axis.lines] == [style_of(name)["color"] for name in ("spiral", "omelyan")]
    assert plot.figure.axes[0].get_ylabel() == "total energy (J)"


def test_equal_runs_are_told_apart_by_directory(run_dir, tmp_path):
    other = shutil.copytree(run_dir, tmp_path / "other")
    labels = [run["label"] for run in plot_of([run_dir, other]).report["runs"]]
    assert labels == [f"spiral, dt 4e-05 s ({directory})" for directory in (run_dir, other)]
    colours = {line.get_color() for line in plot_of([run_dir, other]).figure.axes[1].lines}
    assert len(colours) == 2


def test_edges_that_differ_are_named(run_dir, tmp_path):
    minidem.run(parse(BOX).with_changes({"contact.edges": "corrected"}), tmp_path / "corrected", threads=1)
    labels = [run["label"] for run in plot_of([run_dir, tmp_path / "corrected"]).report["runs"]]
    assert labels == ["spiral, dt 4e-05 s, edges plain", "spiral, dt 4e-05 s, edges corrected"]
    assert plot_of([tmp_path / "corrected"]).report["runs"][0]["label"] == "spiral, dt 4e-05 s"


def test_labels_that_are_given(run_dir, tmp_path):
    other = shutil.copytree(run_dir, tmp_path / "other")
    plot = plot_of([run_dir, other], labels=["a", "b"])
    assert [run["label"] for run in plot.report["runs"]] == ["a", "b"]
    assert [line.get_label() for line in plot.figure.axes[1].lines] == ["a", "b"]
    assert [run["label"] for run in plot_of([run_dir, other, run_dir], labels=["a", "b", "c"]).report["runs"]] == ["c", "b"]


def with_totals(run_dir, directory, change):
    """A copy of a run with other total energies: those that `change` makes of the true ones."""
    copy = shutil.copytree(run_dir, directory)
    with h5py.File(copy / "trajectory.h5", "r+") as file:
        total = file["observables/total/value"]
        total[:] = change(total[:])
    return copy


def test_both_panels_have_the_same_times(run_dir, tmp_path):
    """Also if the first rows have no deviation, which the logarithmic axis leaves out."""
    late = with_totals(run_dir, tmp_path / "late", lambda total: np.where(np.arange(11) < 6, total[0], 1.01 * total[0]))
    figure = plot_of([late]).figure
    figure.draw_without_rendering()
    energies, deviations = figure.axes
    assert energies.get_xlim() == deviations.get_xlim() and energies.get_xlim()[0] <= 0 < 0.04 <= energies.get_xlim()[1]


@pytest.mark.parametrize("spread", [1e-3, 1e-8, 0.0])
def test_total_energies_are_shown_without_an_offset(run_dir, tmp_path, spread):
    """314.2 J and small differences: the numbers at the axis are energies, and all of a few digits."""
    for k in (1, 2):
        with_totals(run_dir, tmp_path / str(k), lambda total, k=k: 314.2 * (1 + k * spread * np.arange(11)))
    figure = plot_of([tmp_path / "1", tmp_path / "2"]).figure
    figure.draw_without_rendering()
    axis = figure.axes[0].yaxis
    assert axis.get_offset_text().get_text() == ""
    (low, high), labels = figure.axes[0].get_ylim(), figure.axes[0].get_yticklabels()
    shown = [label.get_text() for label in labels if low <= label.get_position()[1] <= high]
    assert len(shown) >= 3 and len(set(shown)) == len(shown)
    assert all(float(text) == pytest.approx(314.2, rel=0.06) and len(text) <= 8 for text in shown)


def test_killed_run_is_plotted_up_to_its_last_row(run_dir, tmp_path):
    """Without a summary, the first row of the log is the energy to compare with."""
    killed = shutil.copytree(run_dir, tmp_path / "killed")
    manifest = json.loads((killed / "manifest.json").read_text())
    del manifest["summary"]
    (killed / "manifest.json").write_text(json.dumps(manifest | {"status": "running"}))
    with h5py.File(killed / "trajectory.h5", "r+") as file:
        file["observables/total/value"].resize(6, axis=0)
    plot = plot_of([killed])
    total = np.array(plot_of([run_dir]).data["total"][:6])
    assert plot.data["total"] == total.tolist()
    assert plot.data["deviation"] == pytest.approx(np.abs(total - total[0]) / total[0], rel=1e-12)
    assert plot.report["runs"][0]["status"] == "running" and plot.report["runs"][0]["rows"] == 6
    (killed / "manifest.json").write_text("")  # killed at its start
    assert plot_of([killed]).data == plot.data


def test_deviation_is_from_the_exact_initial_energy(run_dir, tmp_path):
    """It is taken from the manifest; the first row of the log may differ."""
    copy = shutil.copytree(run_dir, tmp_path / "copy")
    manifest = json.loads((copy / "manifest.json").read_text())
    manifest["summary"]["energy"]["initial"] *= 2
    (copy / "manifest.json").write_text(json.dumps(manifest))
    assert plot_of([copy]).data["deviation"] == pytest.approx([0.5] * 11, rel=0.01)


def test_run_with_steps_in_rayleigh_times(tmp_path):
    result = minidem.run(parse(BOX).with_changes({"time.dt": "0.2 rayleigh", "time.end": 4e-4}), tmp_path / "run", threads=1)
    assert plot_of([tmp_path / "run"]).report["runs"][0]["dt"] == pytest.approx(result.summary["dt"], rel=1e-12)


@pytest.mark.filterwarnings("error")
def test_run_without_energy(tmp_path):
    """At rest E0 = 0, and there is no relative deviation."""
    minidem.run(
        parse(BOX).with_changes({"place[0].speed": 0, "place[0].spin": 0, "time.end": 4e-4}), tmp_path / "run", threads=1
    )
    plot = plot_of([tmp_path / "run"])
    assert plot.report["runs"][0]["drift_max"] is None
    assert texts_of(plot.figure.axes[1]) == ["no deviation to draw"]


# --- neither a study nor a run -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["nothing", "file", "empty"])
def test_neither(tmp_path, name):
    (tmp_path / "file").write_text("")
    (tmp_path / "empty").mkdir()
    words = {"nothing": "no such directory", "file": "is a file", "empty": "neither a study .* nor a run"}
    with pytest.raises(
        InputError, match=f"{name}: {'holds ' if name == 'empty' else ''}{words[name]}.*minidem study or minidem run"
    ):
        kind_of(tmp_path / name)


def test_study_beside_others(study_dir, run_dir, tmp_path):
    directory = study_dir()
    other = shutil.copytree(directory, tmp_path / "other")
    for directories in ([directory, run_dir], [run_dir, directory], [directory, other], [run_dir, other, directory]):
        with pytest.raises(InputError, match=r"cannot be plotted together with.*give one study, or runs only"):
            plot_of(directories)


def test_measure_that_does_not_fit(study_dir, run_dir):
    with pytest.raises(InputError, match="did you mean mean"):
        plot_of([study_dir()], "meen")
    with pytest.raises(InputError, match="--measure max: is for studies"):
        plot_of([run_dir], "max")


def test_study_without_records(study_dir):
    with pytest.raises(InputError, match=r"sweep: nothing to plot: no run has ended yet.*--resume"):
        study_plot(study_dir(deviation=lambda c: "missing"))


def test_study_of_failures(study_dir):
    with pytest.raises(InputError, match=r"sweep: nothing to plot: none of the 18 runs .*\(it blew up\).*--retry-failed"):
        study_plot(study_dir(deviation=lambda c: None))


def test_damaged_study(study_dir):
    directory = study_dir()
    identity = json.loads((directory / "study.json").read_text())
    for damage in ({"cells": [[1]]}, {"scenario": ["no TOML"]}, {"scenario": []}, {"scenario": None}):
        (directory / "study.json").write_text(json.dumps(identity | damage))
        with pytest.raises(InputError, match=r"study\.json: .*not one of minidem"):
            study_plot(directory)


def test_run_without_rows(run_dir, tmp_path):
    begun = shutil.copytree(run_dir, tmp_path / "begun")
    with h5py.File(begun / "trajectory.h5", "r+") as file:
        file["observables/total/value"].resize(0, axis=0)
    with pytest.raises(InputError, match="begun: no energies to plot; wait"):
        runs_plot([begun])


def test_run_without_its_scenario(run_dir, tmp_path):
    part = shutil.copytree(run_dir, tmp_path / "part")
    (part / "resolved.toml").unlink()
    with pytest.raises(InputError, match=r"part/resolved\.toml: no such file.*whole run directory"):
        runs_plot([part])


# --- files ---------------------------------------------------------------------------------------------------


def test_files(study_dir, tmp_path):
    directory = study_dir()
    plot = study_plot(directory)
    files = write(plot, stem_of([directory], tmp_path / "new" / "picture", overwrite=False))
    assert [file.name for file in files] == ["picture.png", "picture.svg", "picture.csv"]
    assert files[0].read_bytes()[:4] == b"\x89PNG" and files[1].read_text().startswith("<?xml")
    with files[2].open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["mean"]) for row in rows] == plot.data["mean"]  # to the last bit
    assert [row["integrator"] for row in rows] == plot.data["integrator"]


def test_what_is_no_number_is_empty(tmp_path, study_dir):
    plot = study_plot(study_dir("dt = [1e-5, 2e-5]"))
    assert write(plot, tmp_path / "plot")[2].read_text().splitlines()[1].split(",")[4] == ""


def test_names_of_the_files(tmp_path):
    assert stem_of([tmp_path], None, False) == tmp_path / "plot"
    assert str(stem_of([tmp_path, tmp_path / "b"], None, False)) == "energy"
    assert stem_of([tmp_path], tmp_path / "dt.1e-5", False) == tmp_path / "dt.1e-5"  # not a suffix of a plot
    with pytest.raises(InputError, match="is a directory; give the first part"):
        stem_of([tmp_path], tmp_path, False)


@pytest.mark.parametrize("suffix", ["png", "svg", "csv"])
def test_nothing_is_overwritten_unasked(tmp_path, suffix):
    (tmp_path / f"plot.{suffix}").write_text("precious")
    with pytest.raises(
        InputError, match=rf"plot.{suffix}: exists already; give --overwrite to replace it, or another --out$"
    ):
        stem_of([tmp_path], None, False)
    assert stem_of([tmp_path], None, True) == tmp_path / "plot"


def test_a_failed_overwrite_keeps_the_old_files(tmp_path, study_dir):
    plot = study_plot(study_dir())
    before = {file.name: file.read_bytes() for file in write(plot, tmp_path / "plot")}
    with file_size_limit(1000), pytest.raises(InputError, match="plot cannot be written: File too large"):
        write(plot, tmp_path / "plot")
    assert {file.name: file.read_bytes() for file in tmp_path.glob("*plot*")} == before


def test_place_that_cannot_be_written(tmp_path, study_dir):
    (tmp_path / "file").write_text("")
    plot = study_plot(study_dir())
    assert isinstance(plot, Plot)
    with pytest.raises(InputError, match="file/plot cannot be written"):
        write(plot, tmp_path / "file" / "plot")
