"""One thread that looks, decides and lets workers act."""
