"""push(): rows that clients hand over, in a log until they are used."""
