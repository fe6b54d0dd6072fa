"""The documentation site: `python -m sphinx -W docs output/site` builds it, with warnings as errors."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # for reference_pages.py

import reference_pages

from minidem import __version__

project = "minidem"
copyright = "the minidem developers"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
suppress_warnings = ["myst.xref_missing"]  # links to files of the repository that are not pages
exclude_patterns = ["*.template.md"]

autodoc_typehints = "description"
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
autoclass_content = "both"
toc_object_entries_show_parents = "all"  # minidem.register and minidem.laws.register differ
smartquotes = False  # of docstrings, which name options such as --plugin

html_theme = "pydata_sphinx_theme"
html_title = f"minidem {__version__}"
html_context = {"default_mode": "auto"}
html_show_sourcelink = False
html_theme_options = {"navigation_with_keys": False, "show_nav_level": 2, "navbar_align": "left"}


def setup(app):
    """Write the generated pages before the others are read."""
    app.connect("builder-inited", lambda app: reference_pages.write(Path(app.srcdir) / "reference"))
