"""FROM and JOIN bound to operators."""
