"""The shell behind `penstock sql`."""
