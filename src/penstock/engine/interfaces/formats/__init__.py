"""Files and what they hold: finding them, cutting them into pieces, reading the pieces."""
