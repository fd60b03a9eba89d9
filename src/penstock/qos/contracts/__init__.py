"""What queries were promised, and what is decided to keep it."""
