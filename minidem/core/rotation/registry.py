"""The catalogue of rotational integrators: one row each. Plain data, so that listing it compiles nothing."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Scheme:
    """`order_q` and `order_omega` are global orders of convergence under a constant body-frame torque."""

    name: str
    order_q: int
    order_omega: int
    torque_evaluations: int
    source: str
    summary: str

    @property
    def module(self) -> str:
        return "minidem.core.rotation." + self.name.replace("-", "_")

    @property
    def order(self) -> int:
        return min(self.order_q, self.order_omega)

    @property
    def usable_in(self) -> str:
        return "any scenario" if self.torque_evaluations == 1 else "single bodies"


_SPIRAL = "del Valle et al., Comput. Phys. Commun. 297, 109077 (2024)"
_FINCHAM = "Fincham, Mol. Simul. 8, 165 (1992)"
_OMELYAN = "Omelyan, Phys. Rev. E 58, 1169 (1998)"

SCHEMES = {
    scheme.name: scheme
    for scheme in (
        Scheme("spiral", 2, 3, 1, _SPIRAL + ", Eq. 7-10", "leapfrog SPIRAL"),
        Scheme("spiral-sync", 2, 3, 1, _SPIRAL + ", App. A", "SPIRAL with q and omega on step"),
        Scheme("omelyan", 2, 2, 1, _OMELYAN, "advanced leapfrog, three iterations"),
        Scheme("fincham", 2, 2, 1, _FINCHAM, "leapfrog in angular momentum, as published"),
        Scheme("fincham-yade", 1, 1, 1, _SPIRAL + ", App. B.3", "Fincham's leapfrog as YADE has it"),
        Scheme("velocity-verlet", 1, 1, 1, _SPIRAL + ", App. B.2", "half kick, drift of q, half kick"),
        Scheme("direct-euler", 1, 1, 1, _SPIRAL + ", App. B.1", "semi-implicit Euler"),
    )
}
