"""HTTP: health, statements, pushes and subscriptions, told by OpenAPI."""
