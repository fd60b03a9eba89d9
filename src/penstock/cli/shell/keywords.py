"""The words that the shell completes: the language's own, and Spark's most used."""

KEYWORDS = (
    *("ADAPTIVE", "AFTER", "ALL", "AND", "ARCHIVE", "ANY", "AS", "BATCHING", "BEGIN"),
    *("BETWEEN", "BY", "CONTEXT", "EVENT", "EVENTS", "MASK", "PLUS", "SEQ", "WITHIN"),
    *("ALTER", "CALL", "COUPLING", "DISABLE", "DO", "ENABLE", "PRIORITY", "RAISE", "RETRY"),
    *("RULE", "RULES", "START"),
    *("BASE", "BASES", "GRID", "PERSPECTIVE", "PERSPECTIVES", "RESOLUTION", "SIZE"),
    *("CASE", "CAST", "CREATE", "CROSS", "DAYS", "DESCRIBE", "DISTINCT", "DOT", "DROP", "ELSE"),
    *("END", "EVERY", "EXISTS", "EXPLAIN", "FOR", "FROM", "GROUP", "HAVING", "HOP", "HOURS"),
    *("IDLE", "IF", "IN", "INNER", "INTERVAL", "INTO", "IS", "JOIN", "JSON", "LANDMARK", "LEFT"),
    *("LIKE", "LIMIT", "MINUTES", "NOT", "NULL", "ON", "OPERATORS", "OR", "ORDER", "ORDERED"),
    *("PARTITION", "SCRAMBLED", "DUPLICATES", "RATE"),
    *("PUNCTUATE", "QUERIES", "QUERY", "RANGE", "REPLACE", "RESUME", "ROWS", "SCHEDULE", "SECONDS"),
    *("SELECT", "SESSION", "SET", "SHARING", "SHOW", "SLACK", "SLIDE", "STOP", "STRATEGY"),
    *("ESTIMATE", "FORCE", "LOAD", "QOS"),
    *("COMPLEX", "FLOW", "FUNCTION", "FUNCTIONS", "OF", "OUTPUT", "OVER", "RETURNS", "SITES"),
    *("TYPE", "TYPES", "UNDER", "VECTOR"),
    *("STREAM", "STREAMS", "TABLE", "TABLES", "THEN", "TIMESTAMP", "TUPLES", "UNION", "UNTIL"),
    *("USING", "VALID", "WHEN", "WHERE", "WITH"),
    *(
        "BUFFERS",
        "CONTRACTS",
        "DEAD_LETTERS",
        "DEFINITIONS",
        "HISTORY",
        "JOINS",
        "LATENCIES",
        "PROPERTIES",
        "TRAINS",
        "UNITS",
        "VIEWS",
    ),
)
CONNECTORS = (
    "command",
    "console",
    "files",
    "generator",
    "mqtt",
    "push",
    "replay",
    "spark",
    "webhook",
)
FUNCTIONS = ("avg", "coalesce", "count", "max", "min", "round", "stddev", "sum")
TYPES = ("BIGINT", "BOOLEAN", "DATE", "DECIMAL", "DOUBLE", "FLOAT", "INT", "STRING")
