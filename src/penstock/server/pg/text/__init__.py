"""What clients write: read by PostgreSQL's lexical rules, and told in Penstock's."""
