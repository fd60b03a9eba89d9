"""What runs in a flow: calls, merges, joins of parts, and the guard around them."""
