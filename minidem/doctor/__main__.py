"""`python -m minidem.doctor`, for installations whose command line cannot be imported."""

import sys

from .report import report

raise SystemExit(report("--json" in sys.argv[1:]))
