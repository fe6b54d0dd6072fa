"""A scene as plain arrays for other codes, and its energy from sphere positions alone."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from minidem import Scenario, quaternions
from minidem.model.building import build_model

Array = NDArray[np.float64]


def exported(scenario: Scenario, source: str = "") -> dict[str, Array]:
    """The initial state and parameters of a scene, in SI units and world axes; the spheres of a body are consecutive."""
    if scenario.contact.law != "hertz":
        raise ValueError(f'{source}: other codes are given Hertz contacts only, got "{scenario.contact.law}"')
    model = build_model(scenario, source)
    materials = list(scenario.material)
    used = {clump.material for clump in model.clumps}
    if len(used) > 1 or len(set(model.walls.material)) > 1:
        raise ValueError(f"{source}: other codes are given one material for bodies and one for walls, got {used}")
    if any(model.gravity):
        raise ValueError(f"{source}: other codes are not given gravity")
    own = materials.index(used.pop())
    modulus = 0.75 * np.sqrt(model.constants)  # E* of Hertz contacts
    wall = int(model.walls.material[0]) if model.walls.material.size else own
    count = np.array([len(clump.spheres) for clump in model.clumps])[model.species]
    body = np.repeat(np.arange(len(count)), count)
    local = np.concatenate([model.clumps[k].body_spheres for k in model.species])
    axes = np.array([clump.principal_axes for clump in model.clumps])[model.species]
    orientation = quaternions.unit(quaternions.product(model.orientation, axes))
    material = scenario.material[materials[own]]
    return {
        "dt": np.array(model.dt),
        "box": np.array(scenario.domain.box or (0.0, 0.0, 0.0)),
        "young": np.array(material.young),
        "poisson": np.array(material.poisson),
        "modulus": modulus[own, own],  # E* between bodies
        "wall_modulus": modulus[own, wall],  # E* between a body and a wall
        "wall_point": model.walls.point.T,
        "wall_normal": model.walls.normal.T,
        "mass": model.mass,
        "inertia": np.array([clump.principal_inertia for clump in model.clumps])[model.species],  # (n, 3) principal
        "position": model.position,
        "orientation": orientation,  # (n, 4) w, x, y, z: principal axes -> world
        "velocity": model.velocity,
        "angular_velocity": model.angular_velocity,
        "sphere_body": body,
        "sphere_radius": local[:, 3],
        "sphere_position": quaternions.rotated(orientation[body], local[:, :3]) + model.position[body],
    }


def write(scenario: Scenario, source: str, file: Path) -> dict[str, Array]:
    """Write the arrays of a scene to an .npz file, and return them."""
    scene = exported(scenario, source)
    np.savez(file, **scene)  # type: ignore[arg-type]
    return scene


def kinetic_energy(scene: dict[str, Array]) -> float:
    """Initial kinetic energy, J."""
    spin = quaternions.rotated(quaternions.conjugate(scene["orientation"]), scene["angular_velocity"])
    translation = scene["mass"] @ (scene["velocity"] ** 2).sum(axis=1)
    return float(0.5 * (translation + (scene["inertia"] * spin**2).sum()))


def elastic_energy(scene: dict[str, Array], place: Array) -> float:
    """Elastic energy (J) of spheres with centres `place` (s, 3; m).

    The sum of 8/15 E* sqrt(R*) d^(5/2) over overlaps between different bodies and with walls.
    """
    radius, body = scene["sphere_radius"], scene["sphere_body"]
    i, j = cKDTree(place).query_pairs(2 * radius.max(), output_type="ndarray").T
    i, j = i[body[i] != body[j]], j[body[i] != body[j]]
    overlap = np.maximum(radius[i] + radius[j] - np.linalg.norm(place[i] - place[j], axis=1), 0.0)
    energy = scene["modulus"] * np.sum(np.sqrt(radius[i] * radius[j] / (radius[i] + radius[j])) * overlap**2.5)
    for point, normal in zip(scene["wall_point"], scene["wall_normal"], strict=True):
        overlap = np.maximum(radius - (place - point) @ normal, 0.0)
        energy += scene["wall_modulus"] * np.sum(np.sqrt(radius) * overlap**2.5)
    return float(8 / 15 * energy)
