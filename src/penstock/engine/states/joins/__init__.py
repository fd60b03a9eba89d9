"""States of joins."""
