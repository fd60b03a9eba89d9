"""SELECT bound to operators, clause by clause."""
