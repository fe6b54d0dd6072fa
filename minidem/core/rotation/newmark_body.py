"""Explicit Newmark (velocity Verlet on the rotation group) in the body frame.

    omega(n)     = omega(n-1/2) + dt/2 rate(n),   I rate(n) = M(n) - omega(n) x I omega(n)          Newton's iteration
    omega(n+1/2) = omega(n) + dt/2 rate(n)
    q(n+1)       = q(n) exp(dt/2 omega(n+1/2))

Krysl and Endres, Int. J. Numer. Methods Eng. 62, 2154 (2005), Sec. 2.4 (NMB), with omega(n-1/2) = omega(n-1) + dt/2
rate(n-1), which is what is kept. Time-reversible; the energy of a heavy top does not drift. Keeps |q| = 1 to round-off
without normalisation.
"""

from ..compiling import fused
from ..quaternion import turned
from .euler import acceleration, by_inertia, kicked


@fused
def velocity(before, torque, inertia, dt):
    """omega(n) from omega(n-1/2): the root of omega - dt/2 rate(omega) - before, by Newton's method (Eq. 42 and 43)."""
    a, b, c = 0.5 * dt * inertia[6], 0.5 * dt * inertia[7], 0.5 * dt * inertia[8]
    still = kicked(before, by_inertia(torque, inertia), 0.5 * dt)
    x, y, z = still
    for _ in range(12):
        fx, fy, fz = x - a * y * z - still[0], y - b * z * x - still[1], z - c * x * y - still[2]
        # Jacobian [[1, -az, -ay], [-bz, 1, -bx], [-cy, -cx, 1]], inverted by cofactors
        xx, xy, xz = 1.0 - b * c * x * x, a * (z + c * x * y), a * (y + b * x * z)
        yx, yy, yz = b * (z + c * x * y), 1.0 - a * c * y * y, b * (x + a * y * z)
        zx, zy, zz = c * (y + b * x * z), c * (x + a * y * z), 1.0 - a * b * z * z
        scale = 1.0 / (xx - a * z * yx - a * y * zx)
        dx, dy, dz = (
            scale * (xx * fx + xy * fy + xz * fz),
            scale * (yx * fx + yy * fy + yz * fz),
            scale * (zx * fx + zy * fy + zz * fz),
        )
        x, y, z = x - dx, y - dy, z - dz
        if abs(dx) + abs(dy) + abs(dz) <= 1e-9 * (abs(x) + abs(y) + abs(z)):  # quadratic: the next would be round-off
            break
    return x, y, z


@fused
def start(q, omega, torque, inertia, dt):
    return q, kicked(omega, acceleration(omega, torque, inertia), -0.5 * dt)


@fused
def on_step(q, before, torque, inertia, dt):
    return q, velocity(before, torque, inertia, dt)


@fused
def advance(q, before, torque, inertia, dt):
    omega = velocity(before, torque, inertia, dt)
    after = kicked(omega, acceleration(omega, torque, inertia), 0.5 * dt)
    return turned(q, after, dt), after
