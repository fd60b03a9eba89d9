"""Many queries over the same streams: Penstock against Structured Streaming and Flink SQL.

`python -m benchmarks.many` runs a scenario. Queries are abstract records (`queries`), made in sets
of five kinds (`kinds`), and written in each system's SQL (`penstock_sql`, `spark_sql`,
`flink_sql`). Each system runs in a process of its own (`*_child`), over the same rows (`load`).
"""
