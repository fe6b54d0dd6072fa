"""The energy error of the edges of contacts: its law, its account and its correction (docs/edges.md)."""
