"""`python -m minidem`"""

from .cli import main

main()
