"""The catalogue of rotational integrators: one row each. Plain data, so that listing it compiles nothing."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)  # compared by identity: registering a name again makes a new scheme
class Scheme:
    """A row of the catalogue.

    `order_q` and `order_omega` are the orders of convergence at a fixed time under a constant body-frame torque.
    """

    name: str
    order_q: int
    order_omega: int
    source: str
    summary: str
    conserves: str = ""
    torque_evaluations: int = 1
    normalises: bool = False  # whether the scheme has to normalise q to keep its length
    values: int = 3  # numbers that the scheme keeps per body from step to step, besides q
    late_torque: bool = False  # uses the torque at the start of a step alone: first order while torques change
    parts: Mapping[str, Any] | None = None  # functions of a registered scheme; None for those in this folder

    @property
    def module(self) -> str:
        """Full name of the module of a built-in scheme."""
        return "minidem.engine.rotation." + self.name.replace("-", "_")

    @property
    def order(self) -> int:
        """The lower of the two orders."""
        return min(self.order_q, self.order_omega)

    @property
    def usable_in(self) -> str:
        """Where the scheme can be used; scenarios allow one torque evaluation per step."""
        return "any scenario" if self.torque_evaluations == 1 else "minidem rotor"


def register(
    name: str,
    start: Callable[..., Any],
    advance: Callable[..., Any],
    on_step: Callable[..., Any],
    *,
    foresee: Callable[..., Any] | None = None,
    order_q: int = 1,
    order_omega: int = 1,
    values: int = 3,
    source: str = "",
    summary: str = "",
) -> Scheme:
    """Add a scheme to the catalogue and return its row.

    `start`, `advance`, `on_step` and `foresee` are compiled functions of one body as described in rotation/__init__.py.
    A registered name may be registered again; that of a built-in scheme may not.
    """
    if not name or (name in SCHEMES and SCHEMES[name].parts is None):
        raise ValueError(f'"{name}" is empty or the name of a built-in integrator; choose another name')
    if not re.fullmatch(r"[\w.-]+", name):  # names of files contain it
        raise ValueError(f'"{name}": the name of an integrator has only letters, digits, "_", "." and "-"')
    if values < 3:
        raise ValueError(f"values: must be 3 or more, for the angular velocity, got {values}")
    parts: dict[str, Any] = {"start": start, "advance": advance, "on_step": on_step}
    if foresee is not None:
        parts["foresee"] = foresee
    SCHEMES[name] = Scheme(name, order_q, order_omega, source, summary, values=values, parts=parts)
    return SCHEMES[name]


_SPIRAL = "del Valle et al., Comput. Phys. Commun. 297, 109077 (2024)"
_KRYSL = "Krysl and Endres, Int. J. Numer. Methods Eng. 62, 2154 (2005)"
_MOMENTUM = "angular momentum of a free body"

SCHEMES = {
    scheme.name: scheme
    for scheme in (
        Scheme("spiral", 2, 3, _SPIRAL + ", Eq. 7-10", "leapfrog SPIRAL", "|q|"),
        Scheme("spiral-sync", 2, 3, _SPIRAL + ", App. A", "SPIRAL with q and omega on step", "|q|", late_torque=True),
        Scheme("omelyan", 2, 2, "Omelyan, Phys. Rev. E 58, 1169 (1998)", "advanced leapfrog, three iterations", "|q|"),
        Scheme(
            "fincham",
            2,
            2,
            "Fincham, Mol. Simul. 8, 165 (1992)",
            "leapfrog in angular momentum, as published",
            _MOMENTUM,
            normalises=True,
        ),
        Scheme(
            "fincham-yade",
            1,
            1,
            _SPIRAL + ", App. B.3",
            "Fincham's leapfrog as YADE has it",
            _MOMENTUM,
            normalises=True,
        ),
        Scheme(
            "svanberg",
            2,
            2,
            "Svanberg, Mol. Phys. 92, 1085 (1997)",
            "mid-step implicit leapfrog with scaling",
            _MOMENTUM,
            normalises=True,
        ),
        Scheme(
            "richardson",
            2,
            2,
            "LAMMPS, fix rigid and fix nve/asphere",
            "Richardson extrapolation of q, as in LAMMPS",
            _MOMENTUM,
            normalises=True,
        ),
        Scheme(
            "constraint-force",
            2,
            2,
            "Martys and Mountain, Phys. Rev. E 59, 3733 (1999)",
            "quaternion Verlet with a constraint force",
            "|q|",
        ),
        Scheme("newmark-body", 2, 2, _KRYSL + ", Sec. 2.4", "explicit Newmark, body frame", "|q|; energy without drift"),
        Scheme(
            "newmark-spatial",
            2,
            2,
            _KRYSL + ", Sec. 2.5",
            "explicit Newmark, world frame",
            "energy without drift",
            normalises=True,
        ),
        Scheme(
            "no-squish",
            2,
            2,
            "Miller et al., J. Chem. Phys. 116, 8649 (2002)",
            "symplectic splitting, as in HOOMD and LAMMPS",
            f"|q|; {_MOMENTUM}; energy without drift",
        ),
        Scheme(
            "free-rotor",
            2,
            2,
            "van Zon and Schofield, J. Comput. Phys. 225, 145 (2007)",
            "exact free rotation between half kicks",
            f"{_MOMENTUM} and its energy; energy without drift",
            normalises=True,
            values=8,
        ),
        Scheme(
            "pcdm-improved",
            2,
            2,
            "Seelen et al., Acta Mech. 227, 3381 (2016)",
            "PCDM with q and omega at half steps",
            "|q|",
            values=10,
        ),
        Scheme(
            "simo-wong",
            2,
            2,
            "Simo and Wong, Int. J. Numer. Methods Eng. 31, 19 (1991)",
            "explicit, momentum-conserving",
            f"|q|; {_MOMENTUM}",
            values=6,
        ),
        Scheme("buss", 1, 1, "Buss, J. Comput. Phys. 164, 377 (2000)", "as in PFC7", f"|q|; {_MOMENTUM}", late_torque=True),
        Scheme(
            "pcdm",
            2,
            2,
            "Zhao and van Wachem, Acta Mech. 224, 3091 (2013)",
            "predictor-corrector direct multiplication",
            "|q|",
            late_torque=True,
        ),
        Scheme(
            "velocity-verlet",
            1,
            1,
            _SPIRAL + ", App. B.2",
            "half kick, drift of q, half kick",
            "nothing",
            normalises=True,
        ),
        Scheme(
            "direct-euler", 1, 1, _SPIRAL + ", App. B.1", "semi-implicit Euler", "nothing", normalises=True, late_torque=True
        ),
        Scheme(
            "johnson",
            1,
            1,
            "Johnson et al., Int. J. Numer. Methods Eng. 74, 1303 (2008)",
            "Runge-Kutta for q at a fixed omega, as in PFC7",
            _MOMENTUM,
            normalises=True,
            late_torque=True,
        ),
        Scheme(
            "pfc4",
            1,
            1,
            _SPIRAL + ", App. B.7",
            "rotation matrix, as in PFC4 and MercuryDPM",
            "nothing",
            normalises=True,
            late_torque=True,
        ),
        Scheme(
            "rk4",
            4,
            4,
            "Kutta, Z. Math. Phys. 46, 435 (1901)",
            "classical Runge-Kutta",
            "nothing",
            torque_evaluations=4,
            normalises=True,
            values=17,
        ),
        Scheme(
            "hulbert",
            2,
            2,
            "Hulbert, Comput. Struct. 44, 1291 (1992)",
            "explicit, staggered, midpoint torques",
            f"|q|; {_MOMENTUM}",
            torque_evaluations=2,
            values=10,
        ),
        Scheme(
            "midpoint",
            2,
            2,
            "Austin et al., J. Comput. Phys. 107, 105 (1993)",
            "implicit midpoint rule",
            f"|q|; {_MOMENTUM} and its energy",
            torque_evaluations=8,
            values=10,
        ),
    )
}
