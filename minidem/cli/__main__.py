"""`python -m minidem.cli`"""

from . import main

main()
