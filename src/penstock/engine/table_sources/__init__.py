"""Where the rows of tables come from: one file a source; tables.py lists them."""
