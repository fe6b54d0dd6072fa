"""YADE as a worker: `yade -n -x -j THREADS benchmarks/peers/yade_worker.py SCENE.npz`.

Hertz contacts without damping or friction, YADE's integrators, and its collider with default settings.
"""

import sys
import time

import numpy as np
import yade  # type: ignore[import-not-found]
from yade import utils
from yade.wrapper import (  # type: ignore[import-not-found]
    Bo1_Sphere_Aabb,
    Bo1_Wall_Aabb,
    Body,
    Facet,
    ForceResetter,
    FrictMat,
    Ig2_Sphere_Sphere_ScGeom,
    Ig2_Wall_Sphere_ScGeom,
    InsertionSortCollider,
    InteractionLoop,
    Ip2_FrictMat_FrictMat_MindlinPhys,
    Law2_ScGeom_MindlinPhys_Mindlin,
    NewtonIntegrator,
    Omega,
)

from benchmarks.protocol import serve

O = Omega()  # noqa: E741
Vector3, Quaternion = utils.Vector3, utils.Quaternion


def quaternion(wxyz):
    """A YADE quaternion from w, x, y, z."""
    return Quaternion(*(float(value) for value in wxyz))


def vector(values):
    """A YADE vector."""
    return Vector3(*(float(value) for value in values))


def add_body(scene, b, spheres, material):
    """Add body b, a clump or a single sphere. Returns its id and those of its spheres."""
    radii, places = scene["sphere_radius"][spheres], scene["sphere_position"][spheres]
    mass, inertia = float(scene["mass"][b]), vector(scene["inertia"][b])
    centre, turn = vector(scene["position"][b]), quaternion(scene["orientation"][b])
    members = [utils.sphere(vector(x), float(r), material=material) for x, r in zip(places, radii)]  # noqa: B905
    if len(members) == 1:
        body, ids = members[0], [O.bodies.append(members[0])]
        body.state.mass, body.state.inertia = mass, inertia
    else:
        # YADE sums the volumes of a clump's spheres, but uses the mass and inertia of members with other templates. So the
        # spheres have no volume while the clump is made, and another member, erased afterwards, has the mass of the union.
        # This is done at the origin and in principal axes, where YADE only has to find the order of the axes.
        for member in members:
            member.state.pos = turn.conjugate() * (member.state.pos - centre)
            member.shape.radius = 0.0
        weight = Body()
        weight.shape, weight.material, weight.bounded = Facet(), O.materials[material], False
        weight.state.mass, weight.state.inertia = mass, inertia
        clump, ids = O.bodies.appendClumped([*members, weight], discretization=0)
        O.bodies.erase(ids.pop())
        body = O.bodies[clump]
        body.state.pos, body.state.ori = centre, turn * body.state.ori
        for member, x, radius in zip(members, places, radii):  # noqa: B905
            member.state.pos, member.shape.radius = vector(x), float(radius)
    body.state.vel, body.state.angVel = vector(scene["velocity"][b]), vector(scene["angular_velocity"][b])
    spin = body.state.ori.conjugate() * body.state.angVel
    # YADE integrates the rotation of clumps with angMom, and does not set it from angVel.
    body.state.angMom = body.state.ori * Vector3(*(body.state.inertia[c] * spin[c] for c in range(3)))
    return body.id, ids


def main(file):
    """Serve one scene until the input ends."""
    scene = dict(np.load(file))
    young, poisson = float(scene["young"]), float(scene["poisson"])
    own = O.materials.append(FrictMat(young=young, poisson=poisson, frictionAngle=0.0, density=1000.0))
    # YADE treats a wall as a sphere of the same size, R* = R/2, so E* has to be sqrt(2) times that of the scene.
    soft = 1 / (np.sqrt(2) * float(scene["wall_modulus"])) - (1 - poisson**2) / young
    stiff = (1 - poisson**2) / soft
    walls = O.materials.append(FrictMat(young=float(stiff), poisson=poisson, frictionAngle=0.0, density=1000.0))
    bodies, spheres = [], []
    ends = np.searchsorted(scene["sphere_body"], np.arange(len(scene["mass"]) + 1))
    for b in range(len(scene["mass"])):
        body, ids = add_body(scene, b, slice(ends[b], ends[b + 1]), own)
        bodies.append(body)
        spheres += ids
    for point, normal in zip(scene["wall_point"], scene["wall_normal"]):  # noqa: B905
        axis = int(np.argmax(np.abs(normal)))
        O.bodies.append(utils.wall(float(point[axis]), axis, sense=int(np.sign(normal[axis])), material=walls))
    O.engines = [
        ForceResetter(),
        InsertionSortCollider([Bo1_Sphere_Aabb(), Bo1_Wall_Aabb()]),
        InteractionLoop(
            [Ig2_Sphere_Sphere_ScGeom(), Ig2_Wall_Sphere_ScGeom()],
            [Ip2_FrictMat_FrictMat_MindlinPhys(frictAngle=0.0)],
            [Law2_ScGeom_MindlinPhys_Mindlin()],
        ),
        NewtonIntegrator(damping=0.0),
    ]
    O.dt = float(scene["dt"])

    def kinetic():
        """Kinetic energy, J; after the start, with velocities half a step back."""
        total = 0.0
        for body in bodies:
            state = O.bodies[body].state
            spin = state.ori.conjugate() * state.angVel
            turning = sum(state.inertia[c] * spin[c] ** 2 for c in range(3))
            total += 0.5 * (state.mass * state.vel.squaredNorm() + turning)
        return total

    def run(steps):
        began = time.perf_counter()
        O.run(steps, False)
        while O.running:  # O.wait() checks only every few tens of milliseconds
            time.sleep(1e-3)
        return time.perf_counter() - began

    def state(out):
        np.save(out, np.array([O.bodies[sphere].state.pos for sphere in spheres]))
        return {"step": O.iter, "kinetic": kinetic()}

    ready = {"version": yade.config.version, "bodies": len(bodies), "spheres": len(spheres)}
    serve(ready, run, state)


main(sys.argv[1])
