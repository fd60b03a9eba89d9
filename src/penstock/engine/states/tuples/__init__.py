"""States of operators over tuples, one by one or in their order."""
