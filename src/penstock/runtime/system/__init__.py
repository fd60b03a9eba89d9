"""One running Penstock: definitions come, go, and come back after a restart."""
