"""The experiments of Wu's thesis, chapters 4 and 5."""
