"""How the documentation is built: `make docs`, from the root of the repository."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_extensions"))

project = "Consequence"
author = "the Consequence developers"
root_doc = "docs/index"
# The pages at the root, such as the benchmarks, are linked to as they stand there.
include_patterns = [
    "docs/**.md",
    "README.md",
    "BENCHMARKS.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "corpus/README.md",
    "python/examples/README.md",
    "tools/cuda_on_cpu/README.md",
]
extensions = ["myst_parser", "sphinx.ext.autodoc", "program_help"]

myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
suppress_warnings = ["misc.highlighting_failure"]

autodoc_member_order = "bysource"
autodoc_typehints = "description"
# The pages of what is optional are made without it too.
autodoc_mock_imports = ["torch", "pyspark"]
autodoc_default_options = {"members": True}

html_theme = "furo"
html_title = "Consequence"
html_show_copyright = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}
