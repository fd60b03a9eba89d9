"""HTTP: addresses that may stand in definitions, and requests that end in time."""
