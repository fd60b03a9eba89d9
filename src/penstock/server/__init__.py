"""`penstock serve`: one home for many clients, by HTTP, PostgreSQL's protocol and a page."""
