"""How the graph is cut into units, and which queries share one."""
