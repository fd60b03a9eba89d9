"""Sites of flows at work: in this process, or as tasks of Spark's Python workers."""
