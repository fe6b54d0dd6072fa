"""Writes what is made from the registries and tables of the package: `python docs/generated.py`.

These are docs/integrators.md, docs/laws.md and the JSON Schemas in scenarios/.
"""

import json
from pathlib import Path

import integrators  # the files beside this one
import laws

from minidem.scenario.schema import scenario_schema
from minidem.study.schema import study_schema

DOCS = Path(__file__).parent
MADE = {
    DOCS / "integrators.md": integrators.page,
    DOCS / "laws.md": laws.page,
    DOCS.parent / "scenarios/scenario.schema.json": lambda: json.dumps(scenario_schema(), indent=1) + "\n",
    DOCS.parent / "scenarios/study.schema.json": lambda: json.dumps(study_schema(), indent=1) + "\n",
}

if __name__ == "__main__":
    for path, text in MADE.items():
        path.write_text(text())
