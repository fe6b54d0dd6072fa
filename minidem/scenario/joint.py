"""Rules that join keys or tables.

They look at the data as read, so that they are checked even while some table is wrong.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from ..errors import InputError
from .tables import ClumpSpec, Contact, tables_in
from .values import MAX_PACKING, unknown
from .writing import NAMED_TABLES, Loc


def joint_errors(data: Mapping[str, Any], wrong: set[Loc]) -> Iterator[tuple[Loc, str]]:
    """Place and message of each violation; `wrong` has the places of values that are wrong by themselves."""
    for loc, table in tables_in(data):
        if loc[0] in NAMED_TABLES and "\0" in str(loc[1]):  # HDF5 cannot store it
            yield loc, "must have a name without the character zero"
        for key in ("material", "clump"):
            name, known = table.get(key), data.get(key, {})
            if isinstance(name, str) and isinstance(known, dict) and name not in known:
                yield (*loc, key), unknown(key, name, known)
        if loc[0] == "clump":
            yield from _clump_errors(loc, table, wrong)

    domain, place, body = data.get("domain", {}), data.get("place", []), data.get("body", [])
    if isinstance(domain, dict):
        if "box" in domain and "material" not in domain:
            yield ("domain", "material"), "required with a box, but missing: the material of its walls"
        if "box" not in domain and isinstance(place, list) and place:
            yield ("place",), "random placement needs a box; add one to [domain] or use [[body]]"
    yield from _place_errors(data, wrong)
    yield from _law_errors(data, wrong)
    yield from _edge_errors(data, wrong)
    if place == [] and body == []:
        yield ("body",), "there is nothing to simulate; add at least one [[body]] or [[place]]"


def _place_errors(data: Mapping[str, Any], wrong: set[Loc]) -> Iterator[tuple[Loc, str]]:
    total, packed = 0.0, 0
    for loc, place in tables_in(data):
        if loc[0] != "place":
            continue
        here = (*loc, "packing_fraction")
        if "packing_fraction" not in place:
            if "count" not in place:
                yield (*loc, "count"), "required, but missing; give a count or a packing_fraction"
        elif "count" in place:
            yield here, "give a count or a packing_fraction, not both"
        elif here not in wrong:
            total, packed = total + place["packing_fraction"], packed + 1
            if packed > 1 and total >= MAX_PACKING:
                yield here, f"the fractions up to here must add up to less than {MAX_PACKING}, got {total:.6g}; lower some"


def _law_errors(data: Mapping[str, Any], wrong: set[Loc]) -> Iterator[tuple[Loc, str]]:
    """Keys that the contact law needs and a material in use lacks."""
    from ..engine.contact.registry import LAWS

    if wrong & {("contact",), ("contact", "law")}:
        return
    law = data.get("contact", {}).get("law", Contact().law)
    used = _used_materials(data)
    for loc, table in tables_in(data):
        if loc[0] == "material" and loc[1] in used:
            for key in LAWS[law].keys:
                if key not in table:
                    yield (*loc, key), f'required by contact.law = "{law}", but missing'


def _edge_errors(data: Mapping[str, Any], wrong: set[Loc]) -> Iterator[tuple[Loc, str]]:
    """Corrected edges of a law that does not say how its force begins."""
    from ..engine.contact.registry import LAWS

    if wrong & {("contact",), ("contact", "law"), ("contact", "edges")}:
        return
    contact = data.get("contact", {})
    law = contact.get("law", Contact().law)
    if contact.get("edges", Contact().edges) == "corrected" and LAWS[law].edge_power is None:
        why = f'contact.law = "{law}" has no edge_power: its force does not begin with a power of the overlap'
        yield ("contact", "edges"), f'must be "plain", got "corrected"; {why}'


def _used_materials(data: Mapping[str, Any]) -> set[Any]:
    """Names of the materials of the clumps that have bodies, of the box and of the walls."""
    tables = list(tables_in(data))
    clumps = {table.get("clump") for loc, table in tables if loc[0] in ("place", "body") and _is_text(table.get("clump"))}
    return {
        table["material"]
        for loc, table in tables
        if _is_text(table.get("material"))
        and (loc[0] == "wall" or (loc[0] == "domain" and "box" in table) or (loc[0] == "clump" and loc[1] in clumps))
    }


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _clump_errors(loc: Loc, clump: Mapping[str, Any], wrong: set[Loc]) -> Iterator[tuple[Loc, str]]:
    if "density" in clump and "mass" in clump:
        yield (*loc, "mass"), "give a mass or a density, not both"
    if clump.get("mass_from") == "mesh" and "file" not in clump:
        yield (*loc, "mass_from"), 'must be "spheres" without a file that minidem clump made from a mesh'
    given = [key for key in ("spheres", "file", "builtin") if key in clump]
    if len(given) != 1:
        yield loc, f"needs exactly one of spheres, file and builtin, got {' and '.join(given) or 'none'}"
    elif given == ["builtin"]:
        if "scale" in clump:
            yield (*loc, "scale"), "is for spheres and files; a builtin takes its height"
        yield from _builtin_count_errors(loc, clump, wrong)
    else:
        if "height" in clump:
            yield (*loc, "height"), "is for a builtin; spheres and files take a scale"
        if "count" in clump:
            yield (*loc, "count"), "is for a builtin"
        spheres = (*loc, *given)
        if not any(place[: len(spheres)] == spheres for place in wrong):
            table = {given[0]: clump[given[0]], "material": ""}
            if (*loc, "scale") not in wrong:
                table["scale"] = clump["scale"]
            try:
                ClumpSpec.model_validate(table).sphere_rows()
                if clump.get("mass_from") == "mesh" and given == ["file"]:
                    from ..shapes.sphere_files import read_mesh_moments

                    read_mesh_moments(clump["file"])
            except InputError as error:
                yield spheres, str(error).replace("\n", "; ")


def _builtin_count_errors(loc: Loc, clump: Mapping[str, Any], wrong: set[Loc]) -> Iterator[tuple[Loc, str]]:
    from ..shapes.builtin import BUILTINS

    if "count" in clump and not {(*loc, "count"), (*loc, "builtin")} & wrong:
        shape = BUILTINS[clump["builtin"]]
        if not shape.valid_count(clump["count"]):
            yield (*loc, "count"), f'must be {shape.count_rule} for "{clump["builtin"]}", got {clump["count"]}'
