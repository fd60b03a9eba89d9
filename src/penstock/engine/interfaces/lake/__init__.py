"""Tables of lakes as streams of their versions."""
