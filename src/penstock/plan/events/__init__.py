"""CREATE EVENT and CREATE RULE bound to operators."""
