"""new: write an example to start from."""

import json
from pathlib import Path
from typing import Annotated

import typer

from .options import Json, Overwrite, Quiet


def new(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Name of an example; see --list.", show_default=False)
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the examples.")] = False,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Directory for the files.")] = Path("."),
    json_: Json = False,
    quiet: Quiet = False,
    overwrite: Overwrite = False,
) -> None:
    """Write an example to start from.

    Scenarios, a study, an integrator and a contact law of your own.
    """
    from ..errors import unknown_name
    from ..files.whole import write_missing
    from ..scenario.examples import EXAMPLES, example_texts

    if list_ or name is None:
        if json_:
            names = {key: list(example_texts(key)) for key in EXAMPLES}
            rows = [{"name": key, "files": names[key], "summary": example.summary} for key, example in EXAMPLES.items()]
            print(json.dumps({"examples": rows}))
        else:
            print("\n".join(f"{key:<14}{example.summary}" for key, example in EXAMPLES.items()))
        return
    wanted = Path(name).stem if Path(name).suffix in (".toml", ".py") else name
    if wanted not in EXAMPLES:
        raise unknown_name("example", name, EXAMPLES)
    texts = example_texts(wanted)
    if not overwrite:  # a schema that is there stays, whatever version it is of
        texts = {file: text for file, text in texts.items() if not (file.endswith(".json") and (out / file).exists())}
    files = write_missing(out, texts, overwrite)
    if json_:
        print(json.dumps({"name": wanted, "files": [str(file) for file in files], "next": EXAMPLES[wanted].command}))
    elif not quiet:
        print(f"written to    {', '.join(map(str, files))}\nnext          {EXAMPLES[wanted].command}")
