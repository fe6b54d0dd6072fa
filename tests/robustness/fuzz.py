"""Hostile input of every kind: it is either read or refused with a message that names the file.

    python tests/robustness/fuzz.py --inputs 100000 --seed 0 [--kind trajectory] [--first 0] [--keep DIR]

Input number n of a kind depends on the seed and n alone. Children read the inputs under limits (forks.py), since libraries
may crash or hang on them. Anything but success and InputError is a finding: other exceptions, a message that does not name
the file or is very long, words on stdout or stderr, a crash, a hang, 60 s of processor time, 2 GB of memory, files written
where none should be. Exit code 1 with findings.
"""

import argparse
import contextlib
import json
import math
import os
import random
import re
import shutil
import sys
import tempfile
import time
import warnings
from collections import defaultdict
from pathlib import Path

if __name__ == "__main__":
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy: children have none of the threads of their parent

sys.path.append(str(Path(__file__).parents[1] / "helpers"))  # for a direct call, without pytest

from command import BOX
from forks import answers
from runs import scene
from studies import invented_study

SHARES = {  # by what an input costs
    "trajectory": 0.05,
    "checkpoint": 0.03,
    "manifest": 0.02,
    "study": 0.04,
    "study_directory": 0.02,
    "mesh": 0.26,
    "clump": 0.43,
    "scenario": 0.1,
    "command": 0.05,
}
FEWEST = 60  # inputs of a kind
SCENARIOS = Path(__file__).parents[2] / "scenarios"
NUMBERS = re.split(  # what numbers in files may look like
    " ",
    "0 -0 1 -1 0.0 -0.0 1.5 -2.5e-3 1e308 -1e308 1e309 5e-324 nan -nan inf -inf 7 1e-300 1e300 1e400 -1e-320 1000000000 "
    "2147483648 9223372036854775807 -9223372036854775808 18446744073709551616 100000000000000000000000 0x7fffffff 1_000",
)
PATHS = ["../../x", "/dev/zero", ".", "..", "/", "a" * 300, "é\U0001f600\u202e", "\\u0000", ""]
OTHERS = [f'"{path}"' for path in PATHS]
OTHERS += re.split(" ", "true [] {} [[]] [1,2] 1979-05-27T07:32:00Z [nan,nan,nan] [1e308,1e308,1e308] [0,0,0] {a=1} '\\'")
CHARACTERS = [*"\0\ufeffé\U0001f600\u202e\r\"'[]{}=#,.", "\r\n", "\x1b[31m"]


def damaged_bytes(rng, data):
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 5, 20))):
        at, size = rng.randrange(len(data) + 1), rng.choice((1, 2, 8, 64, 512, 4096))
        how = rng.randrange(7)
        if how <= 2 and data:
            data[at % len(data)] ^= 1 << rng.randrange(8)
        elif how == 3:
            data[at : at + size] = bytes(len(data[at : at + size]))
        elif how == 4:
            other = rng.randrange(len(data) + 1)
            data[at : at + size], data[other : other + size] = data[other : other + size], data[at : at + size]
        elif how == 5:
            data[at : at + size] = rng.randbytes(len(data[at : at + size]))
        elif rng.random() < 0.3:
            del data[at:]
    return bytes(data)


def damaged_text(rng, text, numbers=NUMBERS, others=OTHERS):
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        lines = text.split("\n")
        k, other = rng.randrange(len(lines)), rng.randrange(len(lines))
        how = rng.randrange(12)
        if how == 0:
            del lines[k]
        elif how == 1:
            lines.insert(other, lines[k])
        elif how == 2:
            lines[k], lines[other] = lines[other], lines[k]
        elif how == 3:
            depth = rng.choice((3, 30, 300, 30000))
            nested = (f"x = {'[' * depth}{']' * depth}", f"x = {'{a=' * depth}1{'}' * depth}", f"[{'a.' * (depth // 10)}a]")
            lines.insert(k, rng.choice(nested))
        elif how == 4:
            key = rng.choice(("count", "colour", "x", "dt", "name", "file", "a.b"))
            lines.insert(k, f"{key} = {rng.choice(others + numbers)}")
        text = "\n".join(lines)
        found = list(re.finditer(r"(?<![\w.])[-+]?\d[\d.]*(?:e[-+]?\d+)?", text))
        values = list(re.finditer(r"(?<== ).*$", text, re.MULTILINE))
        if how in (5, 6, 7) and found:
            a, b = rng.choice(found).span()
            text = text[:a] + rng.choice(numbers) + text[b:]
        elif how == 8 and found:
            a, b = rng.choice(found).span()
            text = f"{text[:a]}{10 ** rng.uniform(-30, 30)!r}{text[b:]}"
        elif how == 9 and values:
            a, b = rng.choice(values).span()
            text = text[:a] + rng.choice([*others, rng.choice(values)[0]]) + text[b:]
        elif how in (10, 11):
            at = rng.randrange(len(text) + 1)
            text = text[:at] + rng.choice(CHARACTERS) + text[at + rng.choice((0, 1, 1, 3)) :]
    data = text.encode("utf-8", "surrogatepass")
    return damaged_bytes(rng, data) if rng.random() < 0.1 else data


def random_scenario(rng):
    """By the grammar of scenario files, with values from everywhere."""

    def number():
        return rng.choice(NUMBERS) if rng.random() < 0.04 else repr(rng.choice((1, -1, 1, 1)) * 10 ** rng.uniform(-6, 4))

    def positive():
        return rng.choice(NUMBERS) if rng.random() < 0.04 else repr(10 ** rng.uniform(-4, 1))

    def row(count, value=number):
        return f"[{', '.join(value() for _ in range(count))}]"

    lines = [f"schema = {rng.choice(('1', '1', '1', '2'))}", f'name = "{rng.choice(("a", "a-b", ".", "..", "a/b", "é"))}"']
    step = rng.choice((positive(), '"0.1 rayleigh"', '"-1 rayleigh"'))
    lines += ["[time]", f"dt = {step}", f"end = {positive()}"]
    lines += ["[domain]", f"gravity = {row(3)}"]
    if rng.random() < 0.8:
        lines += [f"box = {row(3, positive)}", 'material = "m"']
    lines += ["[material.m]", f"young = {positive()}", f"poisson = {rng.uniform(-1.1, 0.6)}", f"density = {positive()}"]
    for name in "ab":
        lines += [f"[clump.{name}]", 'material = "m"']
        shape = rng.randrange(4)
        if shape == 0:
            name = rng.choice(("sphere", "rod", "cube", "tetrahedron", "ring"))
            lines += [f'builtin = "{name}"', f"height = {positive()}"]
        elif shape == 1:
            lines += ['file = "rod.csv"', f"scale = {positive()}"]
        else:
            rows = ", ".join(f"[{number()}, {number()}, {number()}, {positive()}]" for _ in range(rng.randint(1, 5)))
            lines += [f"spheres = [{rows}]"]
    for _ in range(rng.randrange(3)):
        amount = f"packing_fraction = {rng.uniform(0, 0.8)}" if rng.random() < 0.3 else f"count = {rng.randint(0, 30)}"
        lines += ["[[place]]", f'clump = "{rng.choice("aabc")}"', amount, f"speed = {positive()}", f"spin = {positive()}"]
    for _ in range(rng.randrange(3)):
        lines += ["[[body]]", f'clump = "{rng.choice("ab")}"', f"position = {row(3)}"]
        lines += [f"orientation = {row(4)}", f"velocity = {row(3)}"]
    for _ in range(rng.randrange(2)):
        lines += ["[[wall]]", f"point = {row(3)}", f"normal = {row(3)}", 'material = "m"']
    return "\n".join(lines).encode()


# --- each kind: makes an input in the directory, and reads it -----------------------------------------------------


def scenario(rng, number, samples, directory):
    path = directory / "fuzz.toml"
    shutil.copy(samples / "rod.csv", directory)
    if number % 100 == 1:
        path.write_bytes(crowd(rng))
    elif number % 3 == 0:
        path.write_bytes(random_scenario(rng))
    else:
        packed = BOX.replace("count = 4", "packing_fraction = 0.3")
        base = rng.choice([BOX, BOX, BOX, packed, *samples_of(samples / "scenarios")])
        path.write_bytes(damaged_text(rng, base))
    from minidem.scenario.reading import load, parse

    read = load(path)
    assert parse(read.to_toml(), "fuzz.toml") == read, "reads back different"
    if number % 100 == 1:
        from minidem.running.simulation import Simulation

        Simulation(read.with_changes({"guard.rayleigh": False}), source=path.name, on_note=lambda note: None)
    elif small(read):
        from minidem.model.building import build_model

        build_model(read, path.name)


def crowd(rng):
    """Many bodies, or spheres of a clump, close to each other; or many mistakes."""
    many = rng.choice((300, 3000))
    far, near = 10 ** rng.uniform(-12, 1), 10 ** rng.uniform(-12, 1)

    def place(size):
        return ", ".join(repr(rng.uniform(-size, size)) for _ in range(3))

    few = rng.choice((1, 1, 30, 300))
    spheres = ", ".join(f"[{place(near)}, {1 + rng.uniform(0, near)}]" for _ in range(few))
    lines = [f'[clump.ball]\nmaterial = "m"\nspheres = [{spheres}]', "[time]\ndt = 1e-4\nend = 1.0"]
    lines += ["[material.m]\nyoung = 1e7\npoisson = 0.2\ndensity = 1000.0"]
    if rng.random() < 0.3:
        lines += ['[domain]\nbox = [3.0, 3.0, 3.0]\nmaterial = "m"', '[[place]]\nclump = "ball"\ncount = 2']
    mistake = rng.choice(("", "", "", "mass = 1.0", "velocity = 3.0", 'clump = "bell"', "x = 1"))
    for _ in range(many):
        lines += [f'[[body]]\nclump = "ball"\nposition = [{place(far)}]', mistake if rng.random() < 0.5 else ""]
    return "\n".join(lines).encode()


def small(read):
    """Enough to be built in no time, with kernels that are compiled already."""
    rows = {name: read.clump[name].sphere_rows() for name in read.used_clumps if (read.clump[name].count or 1) <= 200}
    if len(rows) < len(read.used_clumps) or read.integrator.rotation != "spiral" or sum(map(len, rows.values())) > 300:
        return False
    bodies = len(read.body)
    for group in read.place:
        ball = min(max(float(rows[group.clump][:, 3].max()), 1e-90), 1e90) ** 3  # part of the union
        filled = (group.packing_fraction or 0) * math.prod(read.domain.box) / ball
        bodies += group.count or filled / 4
    return bodies <= 300


def samples_of(directory):
    return [path.read_text() for path in sorted(directory.glob("*.toml"))]


def study(rng, number, samples, directory):
    text = damaged_text(rng, rng.choice(samples_of(samples / "scenarios/studies"))).decode("utf-8", "surrogateescape")
    text = re.sub(r"(count\s*=\s*)(\d{2,7})\b", r"\g<1>9", text)  # many good cells take their time
    path = samples / "scenarios/studies" / "fuzz-study.toml"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    shutil.copy(path, directory)
    from minidem.study.plan import load_study

    try:
        plan = load_study(path)
    finally:
        path.unlink()
    assert plan.identity


def study_directory(rng, number, samples, directory):
    """The directory of a study, to be plotted, continued and reported."""
    found = directory / "fuzz-study"
    shutil.copytree(samples / "sweep", found)
    others = [*OTHERS, *re.split(" ", 'null {"a":null} "spiral" 1e999 NaN [[]] [0.1,1]'), "[" * 5000, "1" * 5000, "1" * 400]
    for _ in range(rng.choice((1, 1, 2, 3))):
        path = found / rng.choice(("study.json", "study.json", "records.jsonl", "records.jsonl", "study.toml", "table.csv"))
        if rng.random() < 0.3 or not path.is_file():
            damage(rng, path, directory)
            continue
        text = path.read_text(errors="replace")
        for _ in range(rng.choice((1, 1, 2, 5))):  # values first: damaged text is mostly no JSON
            value = rng.choice(list(re.finditer(r'(?<=": )[^{\[\n]*?(?=,|}|\n)|(?<=\n   ).*?(?=,?\n)|$', text)))
            text = text[: value.start()] + rng.choice(others + NUMBERS) + text[value.end() :]
        path.write_bytes(damaged_text(rng, text, NUMBERS, others) if rng.random() < 0.2 else text.encode("utf-8", "replace"))
    from minidem.errors import InputError, WriteError
    from minidem.study.conduct import merge
    from minidem.study.plan import load_study
    from minidem.study.records import Records, prepare_directory
    from minidem.views.plots import write
    from minidem.views.report.page import write_report
    from minidem.views.study_plots import MEASURES, study_plot

    plan = load_study(samples / "sweep.toml")
    for step in (
        lambda: merge(plan, found),
        lambda: prepare_directory(found, plan),
        lambda: Records(found / "records.jsonl").__enter__().__exit__(),
    ):
        with contextlib.suppress(InputError, WriteError):
            step()
    drawn = study_plot(found, rng.choice(sorted(MEASURES)))
    json.dumps(drawn.report, allow_nan=False)
    if number % 10 == 0:
        write(drawn, directory / "out" / "plot")
        write_report(found, directory / "out" / "page.html", still=False)


def clump(rng, number, samples, directory):
    path = directory / "fuzz.csv"
    text = (samples / rng.choice(("rod.csv", "fitted.csv"))).read_text()
    numbers = [*NUMBERS, "", "x", "1,2", "1e", "--1", "٣", "1.0.0"]
    path.write_bytes(damaged_bytes(rng, text.encode()) if rng.random() < 0.3 else damaged_text(rng, text, numbers))
    from minidem.errors import InputError
    from minidem.shapes.clump import make_clump
    from minidem.shapes.sphere_files import read_mesh_moments, read_spheres

    if "mesh" in text:
        with contextlib.suppress(InputError):
            read_mesh_moments(path)
    rows = read_spheres(path)
    try:
        make_clump(rows, 1000.0)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None  # as whoever reads files for it does


def mesh(rng, number, samples, directory):
    sample = rng.choice(sorted((samples / "meshes").iterdir()))
    path = directory / f"fuzz{sample.suffix}"
    data = sample.read_bytes()
    if "binary" in sample.name or rng.random() < 0.3:
        data = damaged_bytes(rng, data)
        if rng.random() < 0.3:  # the number of triangles in a binary STL file, or the header of a PLY file
            at = 80 if sample.suffix == ".stl" else rng.randrange(200)
            data = data[:at] + rng.randbytes(4) + data[at + 4 :]
    else:
        data = damaged_text(rng, data.decode())
    path.write_bytes(data)
    from minidem.shapes.mesh_files import read_mesh

    read_mesh(path).moments()


def trajectory(rng, number, samples, directory):
    source = rng.choice(("run", "run", "killed", "old"))
    shutil.copytree(samples / "run", directory / "run")
    path = directory / "run/trajectory.h5"
    if source != "run":
        shutil.copy(samples / f"{source}.h5", path)
    if source == "killed" or number % 2:
        path.write_bytes(damaged_bytes(rng, path.read_bytes()))
    else:
        for _ in range(rng.choice((1, 1, 1, 2, 4))):
            rebuild(rng, path, directory)
    read_run(rng, directory, path, number)


def read_run(rng, directory, path, number):
    """All that there is to read of a run; of some a picture or another format, too."""
    from minidem.files.series import FRAME
    from minidem.files.trajectory import Trajectory

    with Trajectory(path) as run:
        assert run.step.dtype.kind == "i" and run.time.dtype.kind == "f"
        frames = len(run)
        assert all(len(getattr(run, name)) == frames for name in FRAME)
        assert {"step", "time", "total"} <= set(run.observables)
        assert len(run.clumps) > run.species.max() >= 0
        if frames:
            run.kinetic_energy(run.frame(-1))
            centres, radii, body = run.spheres(rng.randrange(frames))
            assert len(centres) == len(radii) == len(body)
    if number % 40 == 0:
        from minidem.views.export.registry import FORMATS
        from minidem.views.export.writing import export_run

        name = rng.choice(sorted(FORMATS))
        export_run(path.parent, directory / "out/x", name, what=rng.choice(("spheres", "bodies")))
    if number % 200 == 99:
        from minidem.views.plots import write
        from minidem.views.run_plots import runs_plot

        write(runs_plot([path.parent]), directory / "out" / "plot")


def rebuild(rng, path, directory):
    """Something in the file becomes what no run would have written."""
    import h5py
    import numpy as np

    with h5py.File(path, "r+") as file:
        names = []
        file.visit(names.append)
        if not names:
            return
        name = rng.choice(names)
        old = file[name]
        shape = getattr(old, "shape", None) or (3,)
        how = rng.randrange(24)
        small = isinstance(old, h5py.Dataset) and old.size and old.size < 10**6
        if how == 23 and isinstance(old, h5py.Group):
            some = file[rng.choice(names)]
            for k in range(rng.choice((30, 3000))):
                old.require_group("clumps")[f"{k}x"] = some
            return
        if how == 19 and small and old.dtype.kind in "if":
            old[...] = rng.choice((-1, 0, 7, 2**31 - 1))
            return
        if how == 18:
            key = rng.choice(("name", "unit", "version"))
            texts = np.array(["a", "b"], dtype=h5py.string_dtype())
            file[name].attrs[key] = rng.choice((5, "x", [1.5] * 3, texts, h5py.Empty("f8")))
            return
        if how == 17 and small and old.dtype.kind == "f":
            old[...] = rng.choice((np.nan, np.inf, -1e308, 1e308))
            return
        if how == 16 and isinstance(old, h5py.Dataset) and old.maxshape and old.maxshape[0] is None:
            old.resize(rng.choice((0, 1, 10**6, 10**9, 10**12)), axis=0)
            return
        del file[name]
        if how == 1:
            file[name] = np.zeros(shape, rng.choice(("S3", "?", "c16", "u8", "i1", "f2", "V7", ">f8")))
        elif how == 2:
            file[name] = np.zeros(rng.choice(((), (0,), (2,), (1, 1, 1, 1), (5, 3), (5, 4), (*shape, 1), shape[:-1])))
        elif how == 3:
            huge, some = tuple(rng.choice((10**4, 10**6, 10**9)) for _ in shape), (100,) * len(shape)
            file.create_dataset(name, huge, rng.choice(("f8", "i4")), chunks=some, maxshape=(None,) * len(shape))
        elif how == 4:
            file.create_dataset(name, shape, h5py.vlen_dtype(np.float64))
        elif how == 5:
            file.create_dataset(name, shape, h5py.string_dtype())
        elif how == 6:
            file[name] = h5py.ExternalLink(str(directory / "other.h5"), "/secret")
        elif how == 7:
            file[name] = h5py.SoftLink(rng.choice(("/nowhere", "/" + name, "/particles", ".", "/h5md")))
        elif how == 8:
            file.create_dataset(name, shape, np.dtype([("a", "f8"), ("b", "S3")]))
        elif how == 9:
            size = 8 * math.prod(shape)
            file.create_dataset(name, shape, "f8", external=[(str(directory / "other.h5"), 0, size)])
        elif how == 10:
            layout = h5py.VirtualLayout(shape, "f8")
            layout[...] = h5py.VirtualSource(str(directory / "other.h5"), "secret", shape)
            file.create_virtual_dataset(name, layout)
        elif how == 11:
            file.create_group(name)
        elif how == 12:
            file[name] = h5py.Empty("f8")
        elif how == 13:
            file[name] = np.dtype("f8")
        elif how == 14:
            file.create_dataset(name, shape, h5py.ref_dtype)
        elif how == 15:
            large = tuple(rng.choice((10**3, 10**5)) for _ in shape)
            file.create_dataset(name, large, "f8", chunks=True, compression="gzip")
        elif small and shape and how in (20, 21, 22):
            if how == 20:  # chunks out of proportion
                chunks, packing = (10**6, *shape[1:]), {"compression": "gzip"}
            elif how == 21:  # a filter without bound
                chunks, packing = (10**5, *shape[1:]), {"scaleoffset": 2}
            else:
                chunks, packing = (1,) * len(shape), {}
            grown = (10**6 if how == 22 else shape[0], *shape[1:])
            values = file.create_dataset(name, grown, "f8", chunks=chunks, maxshape=(None,) * len(shape), **packing)
            values[: shape[0]] = 0.0


def manifest(rng, number, samples, directory):
    run = directory / "run"
    shutil.copytree(samples / "run", run)
    others = [*OTHERS, "null", '{"a": null}', '"running"', "[" * 5000, '{"a":' * 100000, "1" * 5000, "-1", "1e999", "NaN"]
    text = (run / "manifest.json").read_text()
    if rng.random() < 0.5:
        data = json.loads(text)
        data["status"] = "running"
        text = json.dumps(data, indent=2)
    for _ in range(rng.randrange(3)):
        found = rng.choice(list(re.finditer(r"(?<=: )[^{\[\n]*?(?=,?\n)", text)))
        text = text[: found.start()] + rng.choice(others + NUMBERS) + text[found.end() :]
    data = damaged_text(rng, text, NUMBERS, others) if rng.random() < 0.6 else text.encode("utf-8", "replace")
    (run / "manifest.json").write_bytes(data)
    if rng.random() < 0.1:
        (run / "resolved.toml").write_bytes(damaged_text(rng, (run / "resolved.toml").read_text()))
    from minidem.errors import InputError
    from minidem.files.names import claimed_directory
    from minidem.files.trajectory import Trajectory
    from minidem.views.export.writing import why_unfinished
    from minidem.views.run_plots import read_run

    with Trajectory(run) as read:
        why_unfinished(run, read)
    read_run(run)
    with contextlib.suppress(InputError):
        claimed_directory(run, True)
    if number % 50 == 0:
        from minidem.views.report.run_part import run_report

        run_report(run, directory / "out", still=False)


def checkpoint(rng, number, samples, directory):
    """The directory of a run that is to go on."""
    run = directory / "run"
    shutil.copytree(samples / rng.choice(("stopped", "killed")), run)
    outside = {"other.h5": (samples / "old.h5").read_bytes(), "precious": b"precious"}
    for name, data in outside.items():
        (directory / name).write_bytes(data)
    current, previous = run / "checkpoint.h5", run / "checkpoint.previous.h5"
    if number % 3 == 0:
        for path in (current, previous) if rng.random() < 0.3 else (current,):
            damage(rng, path, directory)
    elif number % 3 == 1:
        for _ in range(rng.choice((1, 1, 1, 2, 4))):
            with contextlib.suppress(OSError):  # of what was there nothing may be left
                rng.choice((rebuild, forge))(rng, current, directory)
        if rng.random() < 0.2:
            current.write_bytes(damaged_bytes(rng, current.read_bytes()))
        seal(current)
    else:
        for _ in range(rng.choice((1, 1, 2, 3))):
            damage(rng, run / rng.choice(("manifest.json", "resolved.toml", "scenario.toml", *LOGS, *LOGS)), directory)
    if rng.random() < 0.3 and previous.is_file():
        previous.unlink()
    try:
        go_on(rng, run)
    finally:
        assert all((directory / name).read_bytes() == data for name, data in outside.items()), "written to outside"
        assert {*os.listdir(directory)} == {"run", "out", *outside}, f"written outside: {os.listdir(directory)}"
        assert unlocked(run), "still locked"


def command(rng, number, samples, directory):
    """The command line, in the directory of good files, with arguments of which some are not."""
    home = samples.parent / "cwd"
    for name in ("rod.csv", "fuzz.toml", "fuzz.obj"):
        shutil.copy(samples / name, home)
    shutil.copytree(samples / "run", home / "fuzz-run")
    try:
        called(arguments(rng))
    finally:
        for path in home.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def arguments(rng):
    """A command with its arguments."""

    def value(*good):
        return (
            rng.choice(good) if rng.random() < 0.7 else rng.choice([*NUMBERS, *PATHS, "nan", "2h", "x=1", "1:2", "a,b", "-"])
        )

    def change():
        key = rng.choice(KEYS_OF_SCENARIOS)
        return f"{key}={rng.choice([*NUMBERS, *OTHERS, repr(10 ** rng.uniform(-320, 308))])}"

    def sets():
        return [word for _ in range(rng.choice((0, 1, 1, 2, 3))) for word in ("--set", change())]

    name = rng.choice(list(WORDS))
    words = [name, *(value(word) if rng.random() < 0.1 else word for word in WORDS[name])]
    if name in ("run", "check", "advise"):
        words += sets()
    if name in ("run", "resume"):
        words += ["--max-wall", "0.1s"]
    for option, *good in OPTIONS[name]:
        if rng.random() < 0.3:
            inside = [*good, *PLACES]  # nothing is to be written elsewhere
            words += [option, *([rng.choice(inside) if option == "--out" else value(*good)] if good else [])]
    return words


WORDS = {  # commands that take little time, with the files they need
    "run": ["fuzz.toml"],
    "check": ["fuzz.toml"],
    "resume": ["fuzz-run"],
    "rotor": ["free-body"],
    "export": ["fuzz-run"],
    "plot": ["fuzz-run"],
    "clump": ["fuzz.obj"],
    "study": ["fuzz.toml"],
    "integrators": [],
    "laws": [],
}
PLACES = ["", ".", "-", "a" * 300, "é", "x/y/z", "fuzz-run", "fuzz.toml", "x.csv/y", "1e308"]
COMMON = [("--json",), ("--quiet",), ("--overwrite",), ("--help",)]
OPTIONS = {
    "run": [("--seed", "1"), ("--threads", "1"), ("--checkpoint-every", "60"), ("--out", "out"), *COMMON],
    "check": [("--seed", "1"), ("--threads", "1"), *COMMON],
    "resume": [("--force",), ("--threads", "1"), *COMMON],
    "rotor": [("--integrator", "spiral", "rk4"), ("--dt", "0.1", "1.0"), ("--end", "1", "100"), ("--list",), *COMMON],
    "export": [
        ("--format", "csv", "xyz"),
        ("--out", "x.csv"),
        ("--frames", "0:2"),
        ("--bodies", "1"),
        ("--what", "bodies"),
        *COMMON,
    ],
    "plot": [("--measure", "mean"), ("--out", "x"), *COMMON],
    "clump": [
        ("--spheres", "5"),
        ("--min-radius", "0.1"),
        ("--target-error", "0.5"),
        ("--scale", "2"),
        ("--density", "9"),
        *COMMON,
    ],
    "study": [("--only", "dt=1"), ("--list",), ("--out", "x"), *COMMON],
    "integrators": COMMON,
    "laws": COMMON,
}
KEYS_OF_SCENARIOS = re.split(
    " ",
    "time.dt time.end seed name domain.box domain.box[0] domain.gravity domain.gravity[2] material.plastic.young "
    "material.plastic.poisson material.plastic.density clump.rod.scale clump.rod.mass clump.rod.density clump.rod.file "
    "clump.rod.spheres[0][0] clump.rod.spheres[1][3] body[0].position body[0].position[1] body[0].velocity[0] "
    "body[0].angular_velocity body[0].orientation place[0].count place[0].speed place[0].spin place[0].packing_fraction "
    "output.frames output.energies guard.overlap guard.travel guard.turn guard.energy guard.contact guard.rayleigh "
    "guard.outside contact.law contact.edges integrator.rotation",
)


def called(words):
    """The command in this process. InputError if it refuses: its exit code is 2, or 3 for a physics guard."""
    import typer.main

    from minidem.cli import app
    from minidem.errors import InputError, WriteError
    from minidem.running import outlook

    outlook.WARM_UP = outlook.TRIAL = 0.0  # the estimate of the run time may be as rough as it likes
    before = sys.argv
    sys.argv = ["minidem", *words]
    try:
        typer.main.get_command(app).main(words, prog_name="minidem", standalone_mode=True)
    except SystemExit as ended:
        code = ended.code or 0
        assert code in (0, 2, 3), f"exit code {code} of {words}"
        if code:
            raise InputError(f"cwd: exit code {code}") from None
    except (InputError, WriteError) as error:
        raise InputError(f"cwd: {error}") from None
    finally:
        sys.argv = before


LOGS = ("trajectory.h5", "energy.csv")


def go_on(rng, run):
    """By some steps, or to the end; what is printed of it."""
    from minidem import resume
    from minidem.cli.runs import run_table

    pieces, made, notes = rng.choice((0, 1, 1, 3, 1000)), [], []
    result = resume(
        run,
        force=rng.random() < 0.4,
        on_progress=made.append,
        on_note=notes.append,
        stop=lambda: len(made) >= pieces,
    )
    with result.trajectory as read:
        assert len(read.observables["total"]) >= 0 and len(read) >= 0
    assert all(str(run) in note for note in notes), notes
    run_table(result.summary, result.steps_planned)
    json.dumps(result.summary, allow_nan=False)


def unlocked(run):
    """Whether it can be tried again."""
    from minidem.errors import InputError
    from minidem.files.names import locked

    with contextlib.suppress(InputError):
        return os.close(locked(run)) is None


def damage(rng, path, directory):
    """A file of a run, or what is there instead."""
    how = rng.randrange(12)
    if path.is_symlink():
        return
    if path.name == "trajectory.h5" and how < 5 and path.is_file():
        with contextlib.suppress(OSError):  # it may be damaged already, or its writer was killed
            rebuild(rng, path, directory)
        return
    data = path.read_bytes() if path.is_file() else b""
    if how >= 7 and path.is_dir():
        shutil.rmtree(path)
    elif how >= 7:
        path.unlink(missing_ok=True)
    if how == 8:
        path.mkdir()
    elif how == 9:
        path.symlink_to(directory / rng.choice(("precious", "nowhere", "run", "other.h5")))
    elif how == 10:
        os.mkfifo(path)
    elif how == 11:
        path.write_bytes(rng.choice((b"", bytes(len(data)), data[: rng.randrange(len(data) + 1)])))
    elif how < 7 and path.is_file():
        binary = path.suffix == ".h5" or rng.random() < 0.2
        path.write_bytes(damaged_bytes(rng, data) if binary else damaged_text(rng, data.decode("utf-8", "replace")))


def forge(rng, path, directory):
    """A checkpoint of a state that no run was in, or of another run."""
    import h5py
    import numpy as np

    from minidem.errors import InputError
    from minidem.scenario.reading import parse

    with h5py.File(path, "r+") as file:
        how = rng.randrange(4)
        if how == 0:
            name = rng.choice(("state/step", "state/initial_energy", "frames", "rows", "wall_s"))
            number = rng.choice(
                (-1, 0, 5, 10**4, 2**31, 2**62, 2**63 - 1, 2**64 - 1, -(2**63), math.nan, math.inf, 1e308, -0.5)
            )
            if name in file:
                del file[name]
            file[name] = rng.choice((number, [number], np.float64(number)))
        elif how in (1, 2):
            bodies = tuple(f"bodies/{name}" for name in ("position", "velocity", "orientation", "spin", "force", "torque"))
            name = rng.choice(("rank", *bodies, "lists/skin", "lists/age", "close/skin", "close/age"))
            values = file.get(f"state/{name}")
            if isinstance(values, h5py.Dataset) and values.shape and values.size and values.dtype.kind in "if":
                at = tuple(rng.randrange(n) for n in values.shape)
                whole = (-1, 1, 7, 2**62, -(2**63))
                values[at] = rng.choice(whole if values.dtype.kind == "i" else (*whole, math.nan, math.inf, -1e300, 1e-320))
        elif "origin" in file:
            name = rng.choice(("scenario.toml", "resolved.toml", "minidem", "kernels", "numba", "clump.rod", "clump.x", "é"))
            old = file.get(f"origin/{name}")
            text = old[()].tobytes() if isinstance(old, h5py.Dataset) and old.dtype == np.uint8 else b"x"
            text = damaged_text(rng, text.decode("utf-8", "replace"))
            beside = directory / "run" / name
            if name.endswith(".toml") and rng.random() < 0.7:  # there, too
                with contextlib.suppress(InputError, UnicodeDecodeError):
                    text = parse(text.decode()).to_toml().encode() if name == "resolved.toml" else text
                beside.write_bytes(text)
            if old is not None:
                del file[f"origin/{name}"]
            file[f"origin/{name}"] = np.frombuffer(text, np.uint8)


def seal(path):
    """As if it had been written like that."""
    from minidem.files.checkpoint import head_of

    with open(path, "r+b") as raw:
        head = head_of(raw)
        raw.seek(0)
        raw.write(head)


KINDS = {f.__name__: f for f in (scenario, study, study_directory, clump, mesh, trajectory, checkpoint, manifest, command)}


# --- samples ------------------------------------------------------------------------------------------------------


def make_samples(samples):
    """Good files of every kind, to be damaged."""
    import h5py
    import pyvista

    import minidem
    from minidem.scenario.reading import parse

    shutil.copytree(SCENARIOS, samples / "scenarios")
    rows = "x,y,z,r\n-0.03,0,0,0.02\n# middle\n0 0 0 0.02\n0.03;0;0;0.02\n"
    (samples / "rod.csv").write_text(rows)
    (samples / "fuzz.toml").write_text(BOX)
    moments = "# mesh volume = 0.001\n# mesh center = 0 0 0\n# mesh second moments = 1e-6 1e-6 1e-6 0 0 0\n"
    (samples / "fitted.csv").write_text(moments + rows)
    (samples / "meshes").mkdir()
    templates = {"ball": pyvista.Sphere(theta_resolution=8, phi_resolution=8), "cube": pyvista.Cube().triangulate().clean()}
    for name, shape in templates.items():
        for suffix in (".stl", ".ply"):
            for binary in (True, False):
                shape.save(samples / "meshes" / f"{name}-{'binary' if binary else 'ascii'}{suffix}", binary=binary)
        shape.save(samples / "meshes" / f"{name}.obj")
    shutil.copy(samples / "meshes/cube.obj", samples / "fuzz.obj")
    # Written in small pieces, so that the run is long enough to be copied while it goes on.
    killed = samples / "killed.h5"
    run = parse(BOX)
    frames = []

    def copy(progress):
        frames.append(shutil.copy(samples / "run/trajectory.h5", killed))

    minidem.run(run, samples / "run", text=BOX, on_progress=copy).trajectory.close()
    with h5py.File(samples / "run/trajectory.h5") as new, h5py.File(samples / "old.h5", "w", libver="earliest") as old:
        for name in new:  # without checksums, so that damage reaches what they protect
            new.copy(name, old)
        text = old["parameters/minidem/scenario"][()].decode()
        del old["parameters/minidem/scenario"]
        old["parameters/minidem/scenario"] = text  # in a heap
    make_interrupted(samples)
    invented_study(samples)


def make_interrupted(samples):
    """Runs with two checkpoints: one stopped, one as its writer leaves it when it is killed."""
    import minidem

    def copy(progress):
        at.append(progress.step)
        if progress.step == 60 and not (samples / "killed").exists():
            shutil.copytree(samples / "stopped", samples / "killed")

    at = [0]
    options = {"on_progress": copy, "checkpoint_every": 0.0}
    minidem.run(scene("rods", count=8), samples / "stopped", **options, stop=lambda: at[-1] >= 80).trajectory.close()
    path = samples / "killed/manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"pid": -1}))


# --- the children that read -----------------------------------------------------------------------------------------


def read(root, seed, keep, kind, number):
    """What becomes of an input: outcome and words. Findings are copied to the directory `keep`, if there is one."""
    from minidem.errors import InputError, WriteError

    directory = root / "input"
    shutil.rmtree(directory, ignore_errors=True)
    (directory / "out").mkdir(parents=True)
    os.truncate(root / "noise", 0)
    os.chdir(root / "cwd")
    warnings.simplefilter("always")
    answer = ["accepted", ""]
    try:
        KINDS[kind](random.Random(f"{seed} {kind} {number}"), number, root / "samples", directory)
    except (InputError, WriteError) as error:
        answer = ["refused", str(error)]
        named = ("fuzz", str(directory / "run"), "cwd")
        if not any(name in line for line in str(error).splitlines()[:1] for name in named):
            answer = ["finding", f"the file is not named: {error}"]
        if LACKS_MEMORY.search(str(error)):
            answer = ["finding", f"out of memory: {error}"[:300]]
        if len(str(error)) > LONGEST_MESSAGE:
            answer = ["finding", f"a message of {len(str(error))} characters: {error}"[:300]]
    except BaseException as error:
        trace = error.__traceback__
        while trace.tb_next:
            trace = trace.tb_next
        place = f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"
        answer = ["finding", f"{type(error).__name__} at {place}: {error}"[:300]]
    sys.stdout.flush()
    sys.stderr.flush()
    noise = (root / "noise").read_text(errors="replace")
    if NOISE[kind].search(noise):
        answer = ["finding", f"on stderr: {noise[-300:]}"]
    strange = [*sorted(set(os.listdir(root)) - EXPECTED), *os.listdir(root / "cwd")]
    if strange:
        answer = ["finding", f"files written outside: {strange}"]
        for name in os.listdir(root / "cwd"):
            (root / "cwd" / name).unlink()
    if answer[0] == "finding":
        copy_input(root, seed, keep, kind, number)
    return answer


def copy_input(root, seed, keep, kind, number):
    if keep is not None:
        shutil.copytree(root / "input", keep / f"{kind}-{seed}-{number}", symlinks=True, dirs_exist_ok=True)


EXPECTED = {"samples", "cwd", "noise", "input"}
LACKS_MEMORY = re.compile("alloc")  # what libraries say when there is no memory; minidem says how much is needed and free
LONGEST_MESSAGE = 20_000  # characters
NOISE = defaultdict(lambda: re.compile("."), command=re.compile("Traceback|Warning"))  # what a kind may not write


def fuzz(counts, seed, root, first=0, keep=None, say=print):
    """{kind: {outcome: number, and what an input took at most}} and the findings as (kind, number, words)."""
    (root / "samples").mkdir()
    (root / "cwd").mkdir()
    (root / "input").mkdir()
    make_samples(root / "samples")
    jobs = [(kind, number) for kind, count in counts.items() for number in range(first, first + count)]
    table = {kind: {**dict.fromkeys((*OUTCOMES, "memory"), 0), "seconds": 0.0} for kind in counts}
    findings = []
    with open(root / "noise", "a+") as noise, contextlib.suppress(KeyboardInterrupt):  # what there is so far
        warm_up(root)
        for (kind, number), answer in answers(lambda job: read(root, seed, keep, *job), jobs, noise.fileno()):
            row = table[kind]
            row[answer.outcome] += 1
            row["memory"], row["seconds"] = max(row["memory"], answer.memory), max(row["seconds"], answer.seconds)
            if answer.outcome == "finding":
                findings.append((kind, number, answer.words))
                say(f"{kind} {number}: {answer.words}")
                if math.isnan(answer.seconds):  # its child is gone
                    copy_input(root, seed, keep, kind, number)
    return table, findings


OUTCOMES = ("accepted", "refused", "finding")


def warm_up(root):
    """Read the first inputs of each kind here, so that children find all imported and compiled."""
    with tempfile.TemporaryFile("w+") as noise:
        kept = [os.dup(1), os.dup(2)]
        try:
            os.dup2(noise.fileno(), 1)
            os.dup2(noise.fileno(), 2)
            here = os.getcwd()
            for kind in KINDS:
                for number in (0, 1, 2, *((40, 50, 99) if kind != "checkpoint" else ())):
                    read(root, "warm-up", None, kind, number)
            os.chdir(here)
        finally:
            for number, descriptor in enumerate(kept, start=1):
                os.dup2(descriptor, number)
                os.close(descriptor)


def shared_out(inputs):
    """{kind: number}"""
    return {kind: max(FEWEST, round(share * inputs)) for kind, share in SHARES.items()}


def main():
    parser = argparse.ArgumentParser(description="Reads damaged files of every kind.")
    parser.add_argument("--inputs", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first input of each kind")
    parser.add_argument("--kind", choices=KINDS, action="append", help="only this kind; repeatable")
    parser.add_argument("--keep", type=Path, help="a directory for the inputs of findings")
    parser.add_argument("--json", action="store_true", help="print counts and findings as JSON")
    options = parser.parse_args()
    counts = {kind: options.inputs for kind in options.kind} if options.kind else shared_out(options.inputs)
    say = (lambda words: None) if options.json else print
    began = time.monotonic()
    with tempfile.TemporaryDirectory(dir=MEMORY_DISK if MEMORY_DISK.is_dir() else None) as root:
        table, findings = fuzz(counts, options.seed, Path(root), options.first, options.keep, say)
    if options.json:
        print(json.dumps({"table": table, "findings": findings}))
    else:
        print(f"{'kind':<16}{'inputs':>8}{'accepted':>10}{'refused':>9}{'findings':>10}{'memory MB':>11}{'CPU s':>8}")
        for kind, row in table.items():
            accepted, refused, found = (row[outcome] for outcome in OUTCOMES)
            counted = f"{kind:<16}{accepted + refused + found:>8}{accepted:>10}{refused:>9}{found:>10}"
            print(f"{counted}{row['memory'] / 1e6:>11.0f}{row['seconds']:>8.2f}")
        print(f"{time.monotonic() - began:.0f} s")
    raise SystemExit(1 if findings else 0)


MEMORY_DISK = Path("/dev/shm")  # the inputs are small and many

if __name__ == "__main__":
    main()
