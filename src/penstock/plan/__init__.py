"""From a SELECT to operators, from many queries to one shared graph, from the graph to units."""
