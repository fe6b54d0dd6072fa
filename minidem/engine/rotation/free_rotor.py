"""Exact free rotation between half kicks.

    omega <- omega + dt/2 M(n)/I          q, omega <- free motion over dt          omega <- omega + dt/2 M(n+1)/I

The gyroscopic term of Euler's equations is part of the free motion, which is solved in closed form, so the motion of a body
without torque is exact for any step. Under torque: time-symmetric, second order. Splitting and closed form after van Zon and
Schofield, J. Comput. Phys. 225, 145 (2007), and Celledoni, Fasso, Saefstroem and Zanna, SIAM J. Sci. Comput. 30, 2084
(2008); the arrangement below, which needs neither the phase of the motion nor theta functions, is derived here.

Two equal moments. With the symmetry axis e, the moment I across it and Omega = (I_e - I)/I omega_e,

    q(t) = q exp(L t/2I) exp(-e Omega t/2),      omega across e rotates about e by Omega t.                            (1)

Three moments. Let y be the axis of the middle moment, z the extreme axis that L circles (oriented so that omega_z > 0), x
the other one, and d_ab = I_b - I_a. The invariants of Euler's equations give the largest omega_x and omega_z of the motion,

    X^2 = omega_x^2 + omega_y^2/r^2,                       r^2 = I_x d_xz/(I_y d_yz),
    Z^2 = omega_z^2 + omega_y^2 I_y d_xy/(I_z d_xz),       D = L^2 - 2 T I_y = I_z d_yz omega_z^2 - I_x d_xy omega_x^2,

and omega = (X cn, r X sn, Z dn), where D, the only subtraction, is computed in double-double arithmetic,

    m = I_x d_xy X^2/(I_z d_yz Z^2),       1 - m = D/(I_z d_yz Z^2),       du/dt = Z sqrt(d_xz d_yz/(I_x I_y)) sign d_xz.

The addition theorems advance omega by u = t du/dt without its phase. The attitude is q(t) = q P(0)^-1 exp(z psi/2) P(t),
where P(t) is the shortest rotation of L(t) onto z. As L rotates about z by chi in the body frame, psi + chi = Psi has the
rate

    dPsi/dt = L (I_x omega_x^2 + I_y omega_y^2)/(I_x^2 omega_x^2 + I_y^2 omega_y^2),

an elliptic integral of the third kind with the parameter -n = -I_z d_xy/(I_x d_yz). Landen's transformation from (a, b, g)
= (1, sqrt(1 - m), sqrt(1 + n)), u and kappa = sqrt(n (n + m))/g to

    a' = (a + b)/2,   b' = sqrt(a b),   g' = (g^2 + a b)/2g,   u' = 2u,   kappa' = kappa/2 (g^2 - a b)/(g^2 + a b),

with x = a cs(a u), x' = (x - a b/x)/2, gives it from phase zero as sums over the transformations j = 0, 1, ...:

    Psi = L t/I_y + u sum kappa_j a_j b_j/(g_j^2 + a_j b_j)
                  + sum 2^(-j-1) atan(kappa_j sign(x_j)/(2 sqrt(x'_j^2 + a'_j^2))).                                    (2)

The addition theorem of the third kind moves the start to the phase of omega (`added`).

Rounding: each step starts from the state at the last torque, not from the previous step, so errors do not accumulate over
free steps: those of q and omega stay within about 1e-16 (1 + rotation angle), those of energy and angular momentum within
1e-15. Under torque q is normalised, since the rounding errors of its norm may all have the same sign.
"""

import math

import numpy as np

from ..compile.kernels import fused, inlined, internal
from ..quaternion import cos_sin, dot, product, turn, unit
from .euler import by_inertia, kicked

# `spin` has eight values: body-frame omega (rad/s, 3) and q (4) at the last kick, and the time since (s, 1).

_SPLIT = 134217729.0  # 2^27 + 1 splits a double into two halves (Dekker, Numer. Math. 18, 224 (1971))
_STILL = 1e-50  # rad/s: below it the axis is constant, since squares of omega would underflow
_NONE = 1e-100  # relative to the largest component: smaller ones count as zero


@inlined
def exact_sum(a, b):
    """a + b as a rounded sum and its error."""
    s = a + b
    c = s - a
    return s, (a - (s - c)) + (b - c)


@inlined
def exact_product(a, b):
    """a b as a rounded product and its error."""
    p = a * b
    c, d = _SPLIT * a, _SPLIT * b
    c, d = c - (c - a), d - (d - b)
    e, f = a - c, b - d
    return p, ((c * d - p) + c * f + e * d) + e * f


@fused
def share(i, j, w):
    """i (i - j) w^2 in double-double arithmetic, as a rounded value and its error."""
    d, d_low = exact_sum(i, -j)
    f, f_low = exact_product(i, w)
    g, g_low = exact_product(d, w)
    h, h_low = exact_product(f, g)
    return h, h_low + (f * (g_low + d_low * w) + f_low * g)


@fused
def discriminant(inertia, omega):
    """D = L^2 - 2 T I_y: zero on the separatrix, and accurate near it."""
    a, a_low = share(inertia[2], inertia[1], omega[2])
    b, b_low = share(inertia[0], inertia[1], omega[0])
    s, s_low = exact_sum(a, b)
    return s + (s_low + (a_low + b_low))


@internal
def cs_dn(a, b, u):
    """a cs(a u), dn(a u) and a number with the sign of sn, for the complementary modulus k' = b/a, by Gauss' transformation.

    cs = cs' dn' a'/a and dn = (x'^2 + a' b)/(x'^2 + a' a) with x' = a' cs' (Abramowitz and Stegun 16.12): sums of
    positive numbers only, so small values keep all their digits.
    """
    mean = 0.5 * (a + b)
    if a - b < 1e-8 * a:
        cos, sign = cos_sin(mean * u)
        x, dn = mean * cos / math.copysign(max(abs(sign), 1e-150), sign), 1.0
    else:
        x, dn, sign = cs_dn(mean, math.sqrt(a * b), u)
    return x * dn, (x * x + mean * b) / (x * x + mean * a), sign


@internal
def jacobi(u, complement):
    """sn, cn, dn and cs of u with the parameter m = 1 - complement."""
    if complement > 0.0:
        cs, dn, sign = cs_dn(1.0, math.sqrt(complement), u)
        sn = math.copysign(1.0 / math.sqrt(1.0 + cs * cs), sign)
        return sn, cs * sn, dn, cs
    sech = 1.0 / math.cosh(u)
    return math.tanh(u), sech, sech, 1.0 / math.sinh(u)


@fused
def arc(t):
    """atan(t), by its series if |t| is small, as for all but the first one or two terms of the sum in Eq. 2."""
    t2 = t * t
    if t2 > 1e-3:
        return math.atan(t)
    return t * (1.0 - t2 * (1 / 3 - t2 * (1 / 5 - t2 * (1 / 7 - t2 * (1 / 9 - t2 / 11)))))


@internal
def precession(kappa, g, b, x):
    """The two sums of Eq. 2."""
    if b == 0.0:  # the separatrix: all terms of the second sum are alike
        return 0.0, math.atan(math.copysign(kappa, x) / math.sqrt(x * x + 1.0))
    a, weight, slope, arm = 1.0, 0.5, 0.0, 0.0
    while kappa > 1e-18 * a:
        ab = a * b
        x_next = 0.5 * (x - ab / x)
        a = 0.5 * (a + b)
        share_of_kappa = kappa / (g * g + ab)
        slope += share_of_kappa * ab
        arm += weight * arc(math.copysign(0.5 * kappa, x) / math.sqrt(x_next * x_next + a * a))
        kappa = 0.5 * share_of_kappa * (g * g - ab)
        g = 0.5 * (g + ab / g)
        b = math.sqrt(ab)
        x = x_next
        weight *= 0.5
    return slope, arm


@fused
def added(kappa, g, n, s0, s, s1, c1, d1):
    """Psi from 0 to u minus Psi from phase u0 to u0 + u (DLMF 19.11(i) with alpha^2 = -n; s1, c1, d1 at u0 + u).

    The angle is returned as a pair of numbers proportional to its cosine and its sine.
    """
    return 1.0 + n * (s1 * s1 - s0 * s * c1 * d1), kappa * g * g * s0 * s * s1


@fused
def half(c, s):
    """Cosine and sine of half the angle of such a pair, without subtracting nearly equal numbers."""
    size = math.sqrt(c * c + s * s)
    if c > 0.0:
        c = size + c
    else:
        c, s = abs(s), math.copysign(size - c, s)
    scale = 1.0 / math.sqrt(c * c + s * s)
    return c * scale, s * scale


@fused
def cycled(v, k):
    """(x, y, z), (y, z, x) or (z, x, y): proper rotations."""
    if k == 0:
        return v
    if k == 1:
        return v[1], v[2], v[0]
    return v[2], v[0], v[1]


@fused
def turned_about_z(q, c, s):
    """q exp(z angle/2), from the cosine and the sine of half the angle."""
    return q[0] * c - q[3] * s, q[1] * c + q[2] * s, q[2] * c - q[1] * s, q[3] * c + q[0] * s


@internal
def tumbled(omega, inertia, t):
    """Rotation of a body with three different moments in time t, as a body-frame quaternion, and the final omega."""
    # Axes as in the module docstring: y has the middle moment after a cyclic permutation, L circles z after a quarter turn
    # about y, and omega_z > 0 after half a turn about y.
    ix, iy, iz = inertia
    k = 0 if (ix < iy) == (iy < iz) else 1 if (iy < iz) == (iz < ix) else 2
    ix, iy, iz = cycled(inertia, k)
    wx, wy, wz = cycled(omega, k)
    excess = discriminant((ix, iy, iz), (wx, wy, wz))
    quarter = (excess < 0.0) != (iz < iy) and excess != 0.0
    if quarter:
        ix, iz, wx, wz = iz, ix, -wz, wx
    flipped = wz < 0.0
    if flipped:
        wx, wz = -wx, -wz

    xy, xz, yz = iy - ix, iz - ix, iz - iy
    iz_yz, r = iz * yz, math.sqrt(ix * xz / (iy * yz))
    wy_r = wy / r
    most_x = math.sqrt(wx * wx + wy_r * wy_r)
    most_z = math.sqrt(wz * wz + wy * wy * (iy * xy / (iz * xz)))
    per_x, per_z, squeeze, excess = 1.0 / most_x, 1.0 / most_z, ix * xy / iz_yz, excess / iz_yz
    m = squeeze * (most_x * per_z) ** 2
    complement = min(excess * per_z * per_z, 1.0)
    u = t * math.copysign(most_z * math.sqrt(xz * yz / (ix * iy)), xz)
    s, c, d, cs = jacobi(u, complement)

    # omega by the addition theorems, multiplied by its amplitudes: no phase, and no divisor that may vanish.
    d0 = wz * per_z
    low = 1.0 / (c * c + (s * d0) ** 2)  # 1/(1 - m s0^2 s^2)
    wx1 = (wx * c - wy_r * d0 * s * d) * low
    wy1 = (wy * c * d + r * wx * d0 * s) * low
    wz1 = math.sqrt(excess + squeeze * wx1 * wx1)

    n = iz * xy / (ix * yz)
    g = math.sqrt(iy * xz / (ix * yz))
    kappa = math.sqrt(n * (n + m)) / g
    slope, arm = precession(kappa, g, math.sqrt(complement), cs)
    c0, c1, s0, s1 = wx * per_x, wx1 * per_x, wy_r * per_x, wy1 / r * per_x
    lx, ly, lz = ix * wx, iy * wy, iz * wz
    momentum = math.sqrt(lx * lx + ly * ly + lz * lz)
    chi = c0 * c1 + g * g * s0 * s1, g * (c0 * s1 - s0 * c1)
    lack = added(kappa, g, n, s0, s, s1, c1, wz1 * per_z)
    c, s = half(chi[0] * lack[0] - chi[1] * lack[1], chi[0] * lack[1] + chi[1] * lack[0])
    # A wrong branch of the angle changes at most the sign of q, which `moved` corrects.

    # P^-1 exp(z psi/2) P1, where P rotates L onto z: (|L| + L_z, L x z).
    before = turned_about_z(unit((momentum + lz, -ly, lx, 0.0)), c, -s)
    before = turned_about_z(before, *cos_sin(0.5 * ((momentum * t / iy + u * slope) + arm)))
    after = unit((momentum + iz * wz1, iy * wy1, -ix * wx1, 0.0))
    tw, tx, ty, tz = product(before, after)

    if flipped:
        wx1, wz1, tx, tz = -wx1, -wz1, -tx, -tz
    if quarter:
        wx1, wz1, tx, tz = wz1, -wx1, tz, -tx
    back = (3 - k) % 3
    tx, ty, tz = cycled((tx, ty, tz), back)
    return (tw, tx, ty, tz), cycled((wx1, wy1, wz1), back)


@fused
def spun(omega, slip, t):
    """Rotation of a body symmetric about z in time t, and the final omega: Eq. 1 with slip = Omega/omega_z."""
    wx, wy, wz = omega
    lag = wz * slip  # Omega
    c, s = cos_sin(0.5 * t * lag)
    rotation = turned_about_z(turn((wx, wy, wz + lag), t), c, -s)
    cos, sin = (c - s) * (c + s), 2.0 * s * c
    return rotation, (wx * cos - wy * sin, wx * sin + wy * cos, wz)


@fused
def symmetric(inertia):
    """Whether two moments are equal."""
    return inertia[0] == inertia[1] or inertia[1] == inertia[2] or inertia[2] == inertia[0]


@fused
def free_spinning(q, omega, inertia, t):
    """q and omega of a symmetric body after a time t without torque."""
    k = 0 if inertia[0] == inertia[1] else 1 if inertia[1] == inertia[2] else 2
    slip = -inertia[6] if k == 0 else -inertia[7] if k == 1 else -inertia[8]
    rotation, omega = spun(cycled(omega, k), slip, t)
    back = (3 - k) % 3
    x, y, z = cycled((rotation[1], rotation[2], rotation[3]), back)
    return product(q, (rotation[0], x, y, z)), cycled(omega, back)


@fused
def free_tumbling(q, omega, inertia, t):
    """q and omega of a body with three different moments after a time t without torque."""
    wx, wy, wz = abs(omega[0]), abs(omega[1]), abs(omega[2])
    most, second = max(wx, wy, wz), max(min(wx, wy), min(max(wx, wy), wz))
    if most < _STILL or second < _NONE * most:
        rotation = turn(omega, t)
    else:
        rotation, omega = tumbled(omega, (inertia[0], inertia[1], inertia[2]), t)
    return product(q, rotation), omega


@fused
def later(elapsed, dt):
    """elapsed + dt, as an exact multiple of dt if elapsed was one: 1e5 equal rounding errors would show in the angle."""
    steps = np.rint(elapsed * (1.0 / dt))
    return (steps + 1.0) * dt if steps * dt == elapsed else elapsed + dt


@fused
def now(free, spin, inertia):
    """omega before the second half kick."""
    omega = spin[0], spin[1], spin[2]
    if spin[7] != 0.0:
        _, omega = free((spin[3], spin[4], spin[5], spin[6]), omega, inertia, spin[7])
    return omega


@fused
def moved(free, q, spin, torque, inertia, dt):
    """q and spin at step n + 1 from those at step n; `free` is free_spinning or free_tumbling."""
    coasting = torque[0] == 0.0 and torque[1] == 0.0 and torque[2] == 0.0
    if coasting:
        origin, omega, t = (spin[3], spin[4], spin[5], spin[6]), (spin[0], spin[1], spin[2]), later(spin[7], dt)
    else:
        origin, omega, t = q, kicked(now(free, spin, inertia), by_inertia(torque, inertia), dt), dt
    p, after = free(origin, omega, inertia, t)
    if dot(p, q) < 0.0:  # the same orientation, without a jump of sign
        p = -p[0], -p[1], -p[2], -p[3]
    if coasting:
        return p, (omega[0], omega[1], omega[2], origin[0], origin[1], origin[2], origin[3], t)
    p = unit_again(p)
    return p, (after[0], after[1], after[2], p[0], p[1], p[2], p[3], 0.0)


@fused
def unit_again(q):
    """q normalised, if its norm is off by rounding only: one Newton step for the square root in `unit`."""
    scale = 1.5 - 0.5 * dot(q, q)
    return q[0] * scale, q[1] * scale, q[2] * scale, q[3] * scale


@fused
def start(q, spin, torque, inertia, dt):
    omega = kicked((spin[0], spin[1], spin[2]), by_inertia(torque, inertia), -0.5 * dt)
    return q, (omega[0], omega[1], omega[2], q[0], q[1], q[2], q[3], 0.0)


@fused
def advance_spinning(q, spin, torque, inertia, dt):
    if symmetric(inertia):
        q, spin = moved(free_spinning, q, spin, torque, inertia, dt)
    return q, spin


@fused
def advance_tumbling(q, spin, torque, inertia, dt):
    if symmetric(inertia):
        return q, spin
    return moved(free_tumbling, q, spin, torque, inertia, dt)


advance = advance_spinning, advance_tumbling  # the first has no loops and calls, so it is vectorised


@fused
def on_step(q, spin, torque, inertia, dt):
    omega = now(free_spinning, spin, inertia) if symmetric(inertia) else now(free_tumbling, spin, inertia)
    omega = kicked(omega, by_inertia(torque, inertia), 0.5 * dt)
    return q, (omega[0], omega[1], omega[2], 0.0, 0.0, 0.0, 0.0, 0.0)
