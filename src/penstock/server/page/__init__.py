"""The page: its files, its examples, and the feed of figures that it shows."""
