"""What names mean: streams, tables, queries, events, rules, types, functions."""
