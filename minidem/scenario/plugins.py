"""Schemes and contact laws of one's own: files given with --plugin, and installed packages.

A plugin is a Python file that calls `minidem.register` or `minidem.laws.register`. Installed packages name a module that
does so, or a function that does when it is called, in the entry points `minidem.schemes` or `minidem.laws`.
"""

import hashlib
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

from ..engine.contact.registry import LAWS
from ..engine.rotation.registry import SCHEMES
from ..errors import InputError

GROUPS = tuple(f"minidem.{kind}" for kind in ("schemes", "laws"))  # of entry points
MOST_BYTES = 2**20  # of the file of a plugin
SEE = "`minidem new own_scheme` and `minidem new own_law` write examples"


@dataclass(frozen=True)
class Plugin:
    """A file that registers schemes and laws."""

    path: str  # as given; of an installed package, its name and version
    text: str
    installed: bool = False  # from an entry point

    @property
    def name(self) -> str:
        """The name of the file, or of the installed package with its version."""
        return self.path if self.installed else Path(self.path).name

    @cached_property
    def sha256(self) -> str:
        """The SHA-256 of the file, in hexadecimal."""
        return hashlib.sha256(self.text.encode()).hexdigest()


Rows = tuple[dict[str, Any], dict[str, Any]]  # of SCHEMES and of LAWS, by name
_loading = threading.RLock()
_rows: dict[str, Rows] = {}  # what each plugin has registered, by its SHA-256
_origins: dict[Any, Plugin] = {}  # the plugin of a row


def load_plugin(path: str | Path) -> Plugin:
    """Load a file that registers schemes or contact laws, as --plugin does. The names are then known in this process."""
    return load_plugins([path])[0]


def load_plugins(paths: Iterable[str | Path]) -> tuple[Plugin, ...]:
    """Load several files; InputError if two of them register the same name."""
    plugins = tuple(_read(Path(path)) for path in paths)
    owner: dict[str, Plugin] = {}
    for plugin in plugins:
        for name in (name for rows in activate(plugin) for name in rows):
            if (other := owner.setdefault(name, plugin)).sha256 != plugin.sha256:
                raise InputError(f'{plugin.path}: registers "{name}", as {other.path} does; give one of them')
    return plugins


def activate(plugin: Plugin) -> Rows:
    """Put the rows of a plugin into the catalogues, and return them. Its file is executed once in a process."""
    with _loading:
        if plugin.sha256 not in _rows:
            _rows[plugin.sha256] = _registered_by(lambda: _execute(plugin))
            if not any(_rows[plugin.sha256]):
                del _rows[plugin.sha256]
                what = "registers no integrator and no contact law"
                raise InputError(f"{plugin.path}: {what}\n  it must call minidem.register or minidem.laws.register\n  {SEE}")
        schemes, laws = rows = _rows[plugin.sha256]
        SCHEMES.update(schemes)
        LAWS.update(laws)
        _origins.update(dict.fromkeys((*schemes.values(), *laws.values()), plugin))
        return rows


def plugins_of(rotation: str, law: str) -> dict[str, Plugin]:
    """The plugins that an integrator and a contact law are from, by "integrator" and "law"; without built-in ones and those
    that a program has registered itself."""
    rows = {"integrator": SCHEMES.get(rotation), "law": LAWS.get(law)}
    return {role: _origins[row] for role, row in rows.items() if row in _origins}


@cache
def installed_faults() -> tuple[str, ...]:
    """Load the plugins of installed packages; returns what is wrong with those that cannot be loaded."""
    from importlib.metadata import entry_points

    faults = []
    for entry in (entry for group in GROUPS for entry in entry_points(group=group)):
        name = f"{entry.dist.name} {entry.dist.version}" if entry.dist else entry.module
        try:
            with _loading:
                schemes, laws = _registered_by(lambda entry=entry: _call(entry.load()))  # type: ignore[misc]
                file = getattr(sys.modules[entry.module], "__file__", None)
                text = Path(file).read_text(encoding="utf-8") if file else ""
                _origins.update(dict.fromkeys((*schemes.values(), *laws.values()), Plugin(name, text, installed=True)))
        except Exception as error:  # of somebody else's code
            faults.append(f"{name}: entry point {entry.name}: {type(error).__name__}: {error}")
    return tuple(faults)


def known_after_search(name: str, catalogue: Mapping[str, Any]) -> bool:
    """Whether a catalogue has a name, after loading the plugins of installed packages if it is not there yet."""
    if name not in catalogue:
        installed_faults()
    return name in catalogue


def plugin_hint() -> str:
    """What to add to a message about an unknown name: how to load a plugin, and those that could not be loaded."""
    faults = "".join(f"; not loaded: {fault}" for fault in installed_faults())
    return f"; load your own with --plugin FILE.py{faults}"


def _call(found: Any) -> None:
    """Call what an entry point names, unless it is a module."""
    if not isinstance(found, ModuleType):
        found()


def _read(path: Path) -> Plugin:
    try:
        if path.exists() and not path.is_file():
            raise InputError(f"{path}: not a regular file; give the Python file of a plugin")
        with open(path, "rb") as file:
            content = file.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise InputError(f"{path}: larger than {MOST_BYTES // 2**20} MB; give the Python file of a plugin")
        return Plugin(str(path), content.decode())
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text (byte {error.start + 1}); give the Python file of a plugin") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no file can have this name"
        raise InputError(f"{path}: {reason.lower()}; give the Python file of a plugin") from None


def _registered_by(call: Callable[[], None]) -> Rows:
    """The rows that a call registers."""
    before = set(SCHEMES.values()), set(LAWS.values())
    call()
    schemes = {name: row for name, row in SCHEMES.items() if row not in before[0]}
    laws = {name: row for name, row in LAWS.items() if row not in before[1]}
    return schemes, laws


def _execute(plugin: Plugin) -> None:
    """Execute the file of a plugin as a module of its own; InputError of three lines if it fails."""
    module = ModuleType(f"minidem_plugin_{plugin.sha256[:16]}")
    module.__file__ = plugin.path
    sys.modules[module.__name__] = module
    try:
        exec(compile(plugin.text, plugin.path, "exec", dont_inherit=True), module.__dict__)
    except (Exception, SystemExit) as error:
        del sys.modules[module.__name__]
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == plugin.path]
        line = error.lineno if isinstance(error, SyntaxError) and error.filename == plugin.path else (lines or [None])[-1]
        where = plugin.path if line is None else f"{plugin.path}, line {line}"
        what = error.msg if isinstance(error, SyntaxError) else error
        reason = " ".join(f"{type(error).__name__}: {what}".split())
        raise InputError(f"{where}: the plugin cannot be loaded\n  {reason}\n  correct it; {SEE}") from None
