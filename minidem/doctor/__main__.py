"""`python -m minidem.doctor`, for an installation whose command line cannot be imported."""

import sys

from .checks import report

raise SystemExit(report("--json" in sys.argv[1:]))
