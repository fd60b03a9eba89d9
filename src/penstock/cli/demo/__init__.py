"""The scene that `penstock demo` plays: a house and a street."""
