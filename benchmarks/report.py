"""Tables of results, and comparisons of two results."""

from collections.abc import Sequence
from typing import Any

Row = dict[str, Any]


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table as text: the first column left-aligned, the others right-aligned."""
    lines = [head, *rows]
    widths = [max(len(line[c]) for line in lines) for c in range(len(head))]
    sides = ["<"] + [">"] * (len(head) - 1)
    return "\n".join("  ".join(f"{line[c]:{sides[c]}{widths[c]}}" for c in range(len(head))).rstrip() for line in lines)


def short(value: float | None, digits: int = 4) -> str:
    """The value with that many digits, without an exponent unless it is very small; "-" for None."""
    if value is None:
        return "-"
    if value == 0 or abs(value) >= 10 ** (digits - 1):
        return f"{value:,.0f}"
    text = f"{value:.{digits}g}"
    return f"{value:.2e}" if "e" in text else text


def between(values: Row, scale: float = 1.0) -> str:
    """The quartiles as text."""
    return f"{short(scale * values['low'], 3)} to {short(scale * values['high'], 3)}"


def label(row: Row) -> str:
    """The scene, and the code if it is not minidem."""
    return row["scene"] if row["code"] == "minidem" else f"{row['scene']}, {row['code']} {row['version']}"


def timings(rows: Sequence[Row]) -> str:
    """The table of timings; its columns are explained in README.md."""
    head = ["scene", "threads", "bodies", "spheres", "us per step", "quartiles", "CPU us", "M sphere-steps/s"]
    head += ["contacts", "ns per contact", "peak MB", "bytes per sphere"]
    return table(
        head,
        [
            [
                label(row),
                str(row["threads"]),
                f"{row['bodies']:,}",
                f"{row['spheres']:,}",
                short(row["us_per_step"]["median"]),
                between(row["us_per_step"]),
                short(row["cpu_us_per_step"]["median"]),
                short(row["msphere_steps_per_s"], 3),
                short(row["contacts"]),
                short(row["ns_per_contact"], 3),
                short(row["peak_mb"], 3),
                short(row["own_bytes_per_sphere"], 3)
                if row["spheres"] >= 1000
                else "-",  # with fewer, memory pages dominate
            ]
            for row in rows
        ],
    )


def starts(start: Row) -> str:
    """The table of start-up times."""
    cold, warm = start["cold_s"], start["warm_s"]
    lines = [["minidem --help", short(start["help_s"]["median"], 3), between(start["help_s"])]]
    lines += [[f"minidem run {cold['scene']}, one step, empty cache", short(cold["seconds"], 3), "once"]]
    lines += [[f"minidem run {name}, one step", short(s["median"], 3), between(s)] for name, s in warm.items()]
    return table(["start", "s", "quartiles"], lines)


def peers(rows: Sequence[Row]) -> str:
    """Other codes compared with minidem on the same number of threads if timed, and whether the motion is the same."""
    head = [
        "scene",
        "threads",
        "us per step",
        "times minidem",
        "in CPU time",
        "bodies",
        "initial kinetic error",
        "warm kinetic J",
        "minidem J",
    ]
    head += ["final kinetic J", "minidem J", "energy drift", "minidem", "same scene"]
    lines = []
    for row in rows:
        own = [other for other in rows if other["code"] == "minidem" and other["scene"] == row["scene"]]
        own = [other for other in own if other["threads"] == row["threads"]] or own[:1]
        if row["code"] == "minidem" or not own:
            continue
        ours = own[0]
        ratio, cpu_ratio = (row[key]["median"] / ours[key]["median"] for key in ("us_per_step", "cpu_us_per_step"))
        off = row["start"]["kinetic"] / ours["start"]["kinetic"] - 1
        lines.append(
            [
                label(row),
                f"{row['threads']}"
                if row["threads"] == ours["threads"]
                else f"{row['threads']} (minidem {ours['threads']})",
                short(row["us_per_step"]["median"]),
                short(ratio, 3),
                short(cpu_ratio, 3),
                f"{row['bodies']:,}",
                f"{off:.0e}",
                f"{row['warm']['kinetic']:.6g}",
                f"{ours['warm']['kinetic']:.6g}",
                f"{row['end']['kinetic']:.6g}",
                f"{ours['end']['kinetic']:.6g}",
                f"{row['drift']:.0e}",
                f"{ours['drift']:.0e}",
                same_scene(row, ours),
            ]
        )
    return table(head, lines)


def same_scene(row: Row, ours: Row) -> str:
    """Whether counts, initial energies and the kinetic energy after warm-up agree, and whether the energy drifts later."""
    counts = all(row[key] == ours[key] for key in ("bodies", "spheres"))
    begin = ours["start"]
    energy = all(abs(row["start"][key] - begin[key]) <= 1e-6 * begin["kinetic"] for key in ("kinetic", "elastic"))
    motion = abs(row["warm"]["kinetic"] - ours["warm"]["kinetic"]) <= 0.01 * (begin["kinetic"] + begin["elastic"])
    if not (counts and energy and motion):
        return "NO"
    return "yes" if abs(row["drift"]) <= 0.05 else "yes, then drifts"


def comparison(new: Row, old: Row) -> str:
    """The table of ratios new / old, marked where the ranges between quartiles do not overlap."""
    earlier = {(row["scene"], row["code"], row["threads"]): row for row in old["results"]}
    lines = []
    for row in new["results"]:
        before = earlier.get((row["scene"], row["code"], row["threads"]))
        if before:
            now, then = row["us_per_step"], before["us_per_step"]
            cpu = row["cpu_us_per_step"]["median"] / before["cpu_us_per_step"]["median"]
            others = [short(cpu, 3), short(row["peak_mb"] / before["peak_mb"], 3)]
            cells = [short(then["median"]), short(now["median"]), short(now["median"] / then["median"], 3)]
            lines.append([label(row), str(row["threads"]), "us per step", *cells, verdict(now, then), *others])
    for name, now, then in _start_pairs(new.get("start"), old.get("start")):
        cells = [short(then["median"], 3), short(now["median"], 3), short(now["median"] / then["median"], 3)]
        lines.append([name, "1", "s", *cells, verdict(now, then), "-", "-"])
    if not lines:
        return "nothing to compare: no scene is in both results"
    return table(["scene", "threads", "unit", "old", "new", "new / old", "", "CPU new / old", "peak MB new / old"], lines)


def verdict(now: Row, then: Row) -> str:
    """ "SLOWER" or "faster" if the ranges between quartiles do not overlap."""
    if now["low"] > then["high"]:
        return "SLOWER"
    return "faster" if now["high"] < then["low"] else "within the spread"


def _start_pairs(new: Row | None, old: Row | None) -> list[tuple[str, Row, Row]]:
    if not new or not old:
        return []
    pairs = [("minidem --help", new["help_s"], old["help_s"])]
    for name, seconds in new["warm_s"].items():
        if name in old["warm_s"]:
            pairs.append((f"minidem run {name}", seconds, old["warm_s"][name]))
    return pairs
