"""The plugins that a run uses: what is recorded of them, and what is said if one is missing when the run is resumed."""

from pathlib import Path
from typing import Any

from ..errors import InputError, ScenarioError
from ..files.manifest import manifest_of
from ..files.names import PLUGINS
from ..files.whole import write_whole
from ..scenario.plugins import Plugin, plugins_of
from ..scenario.reading import Scenario, parse
from ..scenario.writing import shown

KINDS = {"integrator": "integrator", "law": "contact law"}  # in messages


def used_plugins(scenario: Scenario) -> dict[str, Plugin]:
    """The plugins that the integrator and the contact law of a scenario are from, by "integrator" and "law"."""
    return plugins_of(scenario.integrator.rotation, scenario.contact.law)


def plugin_digests(scenario: Scenario) -> dict[str, str]:
    """The SHA-256 of each of them, for the origin of a checkpoint."""
    return {f"plugin.{role}": plugin.sha256 for role, plugin in used_plugins(scenario).items()}


def record_plugins(directory: Path, manifest: dict[str, Any], scenario: Scenario) -> None:
    """Note the plugins of a run in its manifest, and copy their files to its directory."""
    names = {"integrator": scenario.integrator.rotation, "law": scenario.contact.law}
    used = used_plugins(scenario)
    for role, plugin in used.items():
        write_whole(directory / PLUGINS[role], plugin.text, locked=True)
    if used:
        manifest["plugins"] = [
            {"role": role, "name": names[role], "file": plugin.name, "sha256": plugin.sha256}
            for role, plugin in used.items()
        ]


def resolved_scenario(text: str, directory: Path) -> Scenario:
    """The scenario of a run, from the text of its resolved.toml; an InputError names the plugins that are not loaded."""
    try:
        return parse(text, str(directory / "resolved.toml"), directory)
    except ScenarioError as error:
        recorded = manifest_of(directory).get("plugins")
        entries = [entry for entry in recorded if isinstance(entry, dict)] if isinstance(recorded, list) else []
        unknown = {role for role, kind in KINDS.items() if f": unknown {kind} " in str(error)}
        missing = [f"{directory}: {_missing(entry, directory)}" for entry in entries if str(entry.get("role")) in unknown]
        if missing:
            raise InputError("\n".join(missing)) from None
        raise


def _missing(entry: dict[str, Any], directory: Path) -> str:
    """What to do about a plugin that is not loaded, given its entry in the manifest."""
    copy = directory / PLUGINS[entry["role"]]
    there = f"; {copy} is a copy" if copy.is_file() else ""
    what = f"{KINDS[entry['role']]} {shown(entry.get('name'))} is from the plugin {shown(entry.get('file'))}"
    return f"{what}; give this file with --plugin (in Python: minidem.load_plugin){there}"
