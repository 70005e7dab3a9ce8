"""The documentation site: `make docs` writes it to build/site, without a network."""

import re
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent

project = "allranks"
author = "the allranks authors"
copyright = author
version = re.search(r'__version__ = "([^"]+)"', (TOP / "src/allranks/__init__.py").read_text("utf-8"))[1]
release = version

extensions = ["myst_parser"]
myst_enable_extensions = ["deflist"]
source_suffix = {".md": "markdown"}
myst_heading_anchors = 4
myst_links_external_new_tab = False
nitpicky = True
smartquotes = False  # it would make one dash of an option's two
highlight_language = "text"

html_theme = "furo"
html_title = "allranks"
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}
