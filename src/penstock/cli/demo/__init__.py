"""What `penstock demo` shows and tells of its scene."""
