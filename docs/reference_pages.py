"""Pages of the reference that are made from the code: the commands, and the keys of scenarios and studies."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any


def write(folder: Path) -> None:
    """Write the generated pages to a folder; a page that is up to date is not touched."""
    for name, text in {"commands": commands(), "scenario": scenario(), "study": study()}.items():
        path = folder / f"{name}.md"
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def commands() -> str:
    """The page of all commands: their help texts."""
    import typer

    from minidem.cli import app

    group = typer.main.get_command(app)
    exits = "0 done, 1 failed, 2 bad usage or bad input, 3 stopped by a guard, 130 and 143 interrupted, with a checkpoint"
    parts = [f"# Commands\n\nWhat `minidem COMMAND -h` prints. Exit codes: {exits}.\n"]
    for name, command in group.commands.items():  # type: ignore[attr-defined]
        context = typer.Context(command, info_name=f"minidem {name}", max_content_width=100)
        parts.append(f"## minidem {name}\n\n```text\n{command.get_help(context)}\n```\n")
    return "\n".join(parts)


def scenario() -> str:
    """The page of all keys of scenario files."""
    from minidem.scenario.schema import rows

    head = (
        "A scenario is a TOML file in SI units. All errors in it are reported at once, each with the key and a suggested "
        "fix. `minidem new` writes examples, and `minidem schema` the same as a JSON Schema for [editors](../editors.md)."
    )
    return page("Scenario files", head, rows())


def study() -> str:
    """The page of all keys of study files."""
    from minidem.study.schema import rows

    head = "A study file names a base scenario and the values of its keys to run ([tutorial](../tutorial.md))."
    return page("Study files", head, rows())


def page(title: str, head: str, rows: Iterable[Any]) -> str:
    """A page with a table of keys for each table of the file."""
    parts, table = [f"# {title}\n\n{head}\n"], None
    for row in rows:
        if row.table != table:
            table = row.table
            parts.append(f"\n## {f'`{table}`' if table else 'Above the first table'}\n")
            parts.append("| key | type | unit | default | range | meaning |\n| --- | --- | --- | --- | --- | --- |")
        cells = (f"`{row.key}`", row.type, row.unit, row.default, row.range, row.description)
        parts.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(parts) + "\n"
