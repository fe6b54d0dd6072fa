"""Tables of results, and of two results side by side."""

from collections.abc import Sequence
from typing import Any

Row = dict[str, Any]


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The first column to the left, the others to the right."""
    lines = [head, *rows]
    widths = [max(len(line[c]) for line in lines) for c in range(len(head))]
    sides = ["<"] + [">"] * (len(head) - 1)
    return "\n".join("  ".join(f"{line[c]:{sides[c]}{widths[c]}}" for c in range(len(head))).rstrip() for line in lines)


def short(value: float | None, digits: int = 4) -> str:
    """Three or four digits, without an exponent."""
    if value is None:
        return "-"
    if value == 0 or abs(value) >= 10 ** (digits - 1):
        return f"{value:,.0f}"
    text = f"{value:.{digits}g}"
    return f"{value:.2e}" if "e" in text else text


def between(values: Row, scale: float = 1.0) -> str:
    return f"{short(scale * values['low'], 3)} to {short(scale * values['high'], 3)}"


def label(row: Row) -> str:
    return row["scene"] if row["code"] == "minidem" else f"{row['scene']}, {row['code']} {row['version']}"


def timings(rows: Sequence[Row]) -> str:
    head = ["scene", "threads", "bodies", "spheres", "us a step", "quartiles", "CPU us", "M sphere-steps/s"]
    head += ["contacts", "ns a contact", "peak MB", "own B a sphere"]
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
                short(row["own_bytes_per_sphere"], 3) if row["spheres"] >= 1000 else "-",  # else a page decides
            ]
            for row in rows
        ],
    )


def starts(start: Row) -> str:
    cold, warm = start["cold_s"], start["warm_s"]
    lines = [["minidem --help", short(start["help_s"]["median"], 3), between(start["help_s"])]]
    lines += [[f"minidem run {cold['scene']}, one step, nothing compiled yet", short(cold["seconds"], 3), "once"]]
    lines += [[f"minidem run {name}, one step", short(s["median"], 3), between(s)] for name, s in warm.items()]
    return table(["start", "s", "quartiles"], lines)


def peers(rows: Sequence[Row]) -> str:
    """Other codes beside minidem with as many threads, or one; and whether all went through the same motion."""
    head = [
        "scene",
        "threads",
        "us a step",
        "times minidem",
        "in CPU time",
        "bodies",
        "start kinetic off",
        "warm kinetic J",
        "ours J",
    ]
    head += ["end kinetic J", "ours J", "energy drift", "ours", "same scene"]
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
                f"{row['threads']}" if row["threads"] == ours["threads"] else f"{row['threads']} (ours {ours['threads']})",
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
    """As many bodies and spheres, the same energy at the start and after as many steps; and is energy kept later on?"""
    counts = all(row[key] == ours[key] for key in ("bodies", "spheres"))
    begin = ours["start"]
    energy = all(abs(row["start"][key] - begin[key]) <= 1e-6 * begin["kinetic"] for key in ("kinetic", "elastic"))
    motion = abs(row["warm"]["kinetic"] - ours["warm"]["kinetic"]) <= 0.01 * (begin["kinetic"] + begin["elastic"])
    if not (counts and energy and motion):
        return "NO"
    return "yes" if abs(row["drift"]) <= 0.05 else "yes, then drifts"


def comparison(new: Row, old: Row) -> str:
    """Ratios new / old, flagged where the quartiles lie apart."""
    earlier = {(row["scene"], row["code"], row["threads"]): row for row in old["results"]}
    lines = []
    for row in new["results"]:
        before = earlier.get((row["scene"], row["code"], row["threads"]))
        if before:
            now, then = row["us_per_step"], before["us_per_step"]
            cpu = row["cpu_us_per_step"]["median"] / before["cpu_us_per_step"]["median"]
            others = [short(cpu, 3), short(row["peak_mb"] / before["peak_mb"], 3)]
            cells = [short(then["median"]), short(now["median"]), short(now["median"] / then["median"], 3)]
            lines.append([label(row), str(row["threads"]), "us a step", *cells, verdict(now, then), *others])
    for name, now, then in _start_pairs(new.get("start"), old.get("start")):
        cells = [short(then["median"], 3), short(now["median"], 3), short(now["median"] / then["median"], 3)]
        lines.append([name, "1", "s", *cells, verdict(now, then), "-", "-"])
    if not lines:
        return "nothing to compare: no scene is in both results"
    return table(["scene", "threads", "unit", "old", "new", "new / old", "", "CPU new / old", "peak MB new / old"], lines)


def verdict(now: Row, then: Row) -> str:
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
