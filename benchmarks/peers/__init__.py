"""The same scenes in other codes, from minidem's own model of them."""
