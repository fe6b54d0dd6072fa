"""The same scenes in other codes, from minidem's model of them."""
