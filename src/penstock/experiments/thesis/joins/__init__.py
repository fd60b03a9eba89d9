"""The experiments of chapter 3 of Wu's thesis, and E5.7: joins that need no window."""
