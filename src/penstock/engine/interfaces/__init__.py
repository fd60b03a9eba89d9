"""Sources of tuples: one file each; `engine/connectors` lists them."""
