"""Hostile input of every kind: it is either read or refused with a message that names the file.

    python tests/robustness/fuzz.py --inputs 100000 --seed 0 [--kind trajectory] [--first 0] [--keep DIR]

Input number n of a kind depends on the seed and n alone. A process of its own reads the inputs, since libraries may crash
or hang on them. Anything but success and InputError is a finding: other exceptions, a message that does not name the file,
words on stdout or stderr, a crash, a hang, files written where none should be. Exit code 1 with findings.
"""

import argparse
import contextlib
import json
import math
import os
import random
import re
import select
import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "helpers"))  # for a direct call, without pytest

from command import BOX
from runs import scene

SHARES = {  # by what an input costs
    "trajectory": 0.05,
    "checkpoint": 0.03,
    "manifest": 0.02,
    "study": 0.04,
    "mesh": 0.28,
    "clump": 0.48,
    "scenario": 0.1,
}
FEWEST = 60  # inputs of a kind
PATIENCE = 30.0  # s, after which an input hangs
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
    if number % 3 == 0:
        path.write_bytes(random_scenario(rng))
    else:
        packed = BOX.replace("count = 4", "packing_fraction = 0.3")
        base = rng.choice([BOX, BOX, BOX, packed, *samples_of(samples / "scenarios")])
        path.write_bytes(damaged_text(rng, base))
    from minidem.scenario.reading import load, parse

    read = load(path)
    assert parse(read.to_toml(), "fuzz.toml") == read, "reads back different"
    if small(read):
        from minidem.model.building import build_model

        build_model(read, path.name)


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
        how = rng.randrange(20)
        if how == 19 and isinstance(old, h5py.Dataset) and old.dtype.kind in "if" and old.size:
            old[...] = rng.choice((-1, 0, 7, 2**31 - 1))
            return
        if how == 18:
            key = rng.choice(("name", "unit", "version"))
            texts = np.array(["a", "b"], dtype=h5py.string_dtype())
            file[name].attrs[key] = rng.choice((5, "x", [1.5] * 3, texts, h5py.Empty("f8")))
            return
        if how == 17 and isinstance(old, h5py.Dataset) and old.dtype.kind == "f" and old.size:
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


KINDS = {f.__name__: f for f in (scenario, study, clump, mesh, trajectory, checkpoint, manifest)}


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
    moments = "# mesh volume = 0.001\n# mesh center = 0 0 0\n# mesh second moments = 1e-6 1e-6 1e-6 0 0 0\n"
    (samples / "fitted.csv").write_text(moments + rows)
    (samples / "meshes").mkdir()
    templates = {"ball": pyvista.Sphere(theta_resolution=8, phi_resolution=8), "cube": pyvista.Cube().triangulate().clean()}
    for name, shape in templates.items():
        for suffix in (".stl", ".ply"):
            for binary in (True, False):
                shape.save(samples / "meshes" / f"{name}-{'binary' if binary else 'ascii'}{suffix}", binary=binary)
        shape.save(samples / "meshes" / f"{name}.obj")
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


# --- the process that reads -----------------------------------------------------------------------------------------


def work(root, seed):
    """Reads "kind number" lines, answers each with [outcome, words]."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    noise = os.open(root / "noise", os.O_RDWR | os.O_CREAT | os.O_APPEND)
    os.dup2(noise, 1)
    os.dup2(noise, 2)
    warnings.simplefilter("always")
    from minidem.errors import InputError, WriteError

    os.chdir(root / "cwd")
    expected = sorted(os.listdir(root))
    for line in sys.stdin:
        kind, number = line.split()
        directory = root / "input"
        shutil.rmtree(directory, ignore_errors=True)
        (directory / "out").mkdir(parents=True)
        os.ftruncate(noise, 0)
        answer = ["accepted", ""]
        try:
            KINDS[kind](random.Random(f"{seed} {kind} {number}"), int(number), root / "samples", directory)
        except (InputError, WriteError) as error:
            answer = ["refused", str(error)]
            named = ("fuzz", str(directory / "run"), "cwd")
            if not any(name in line for line in str(error).splitlines()[:1] for name in named):
                answer = ["finding", f"the file is not named: {error}"]
        except BaseException as error:
            trace = error.__traceback__
            while trace.tb_next:
                trace = trace.tb_next
            place = f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"
            answer = ["finding", f"{type(error).__name__} at {place}: {error}"[:300]]
        sys.stdout.flush()
        sys.stderr.flush()
        if os.fstat(noise).st_size:
            answer = ["finding", f"on stderr: {(root / 'noise').read_text(errors='replace')[:300]}"]
        strange = [*sorted(set(os.listdir(root)) - set(expected)), *os.listdir(root / "cwd")]
        if strange:
            answer = ["finding", f"files written outside: {strange}"]
            for name in os.listdir(root / "cwd"):
                (root / "cwd" / name).unlink()
        answers.write(json.dumps(answer) + "\n")


class Reader:
    """The process that reads, started anew when it is gone."""

    def __init__(self, root, seed):
        self.root, self.seed, self.process = root, seed, None

    def outcome(self, kind, number):
        if self.process is None:
            command = [sys.executable, __file__, "--work", str(self.root), "--seed", str(self.seed)]
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.process.stdin.write(f"{kind} {number}\n".encode())
        self.process.stdin.flush()
        if not select.select([self.process.stdout], [], [], PATIENCE * 4 if kind == "scenario" else PATIENCE)[0]:
            self.end()
            return "finding", "hangs"
        if line := self.process.stdout.readline():
            return tuple(json.loads(line))
        code = self.process.wait()
        self.end()
        return "finding", f"crashes: the process ended with {code}"

    def end(self):
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None


def fuzz(counts, seed, root, first=0, keep=None, say=print):
    """{kind: {outcome: number}} and the findings as (kind, number, words)."""
    (root / "samples").mkdir()
    (root / "cwd").mkdir()
    (root / "noise").touch()
    (root / "input").mkdir()
    make_samples(root / "samples")
    reader, table, findings = Reader(root, seed), {}, []
    try:
        for kind, count in counts.items():
            table[kind] = dict.fromkeys(("accepted", "refused", "finding"), 0)
            for number in range(first, first + count):
                outcome, words = reader.outcome(kind, number)
                table[kind][outcome] += 1
                if outcome == "finding":
                    findings.append((kind, number, words))
                    say(f"{kind} {number}: {words}")
                    if keep is not None:
                        shutil.copytree(root / "input", keep / f"{kind}-{seed}-{number}", dirs_exist_ok=True)
    except KeyboardInterrupt:  # what there is so far
        pass
    finally:
        reader.end()
    return table, findings


def shared_out(inputs):
    """{kind: number}"""
    return {kind: max(FEWEST, round(share * inputs)) for kind, share in SHARES.items()}


def main():
    parser = argparse.ArgumentParser(description="Reads damaged files of every kind.")
    parser.add_argument("--inputs", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--kind", choices=KINDS)
    parser.add_argument("--keep", type=Path, help="a directory for the inputs of findings")
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(options.work, options.seed)
        return
    counts = {options.kind: options.inputs} if options.kind else shared_out(options.inputs)
    with tempfile.TemporaryDirectory() as root:
        table, findings = fuzz(counts, options.seed, Path(root), options.first, options.keep)
    print(f"{'kind':<12}{'inputs':>8}{'accepted':>10}{'refused':>9}{'findings':>10}")
    for kind, row in table.items():
        print(f"{kind:<12}{sum(row.values()):>8}{row['accepted']:>10}{row['refused']:>9}{row['finding']:>10}")
    raise SystemExit(1 if findings else 0)


if __name__ == "__main__":
    main()
