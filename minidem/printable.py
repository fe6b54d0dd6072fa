"""Names in messages, figures and tables: file names may hold any bytes."""


def printable(text: str) -> str:
    """The text in one line, with escapes such as \\n in place of characters that cannot be printed. The bytes of a file name
    that are not UTF-8 become \\udc80 to \\udcff."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
