"""SELECTs that Arrow answers exactly as Spark does, read into typed steps; pure."""
