"""What OpenAPI tells that types cannot: bodies, answers and examples."""

from typing import Any

PROBLEM: dict[str, Any] = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message", "hint"],
            "properties": {
                "code": {"type": "string", "examples": ["SQL_SYNTAX"]},
                "message": {"type": "string"},
                "hint": {"type": "string"},
                "line": {"type": ["integer", "null"]},
                "column": {"type": ["integer", "null"]},
            },
        }
    },
}
ERROR_EXAMPLE = {
    "error": {
        "code": "UNKNOWN_NAME",
        "message": "no stream, table, query or event trafic",
        "hint": "did you mean traffic?",
        "line": 1,
        "column": 1,
    }
}


def _error(description: str) -> dict[str, Any]:
    content = {"application/json": {"schema": PROBLEM, "example": ERROR_EXAMPLE}}
    return {"description": description, "content": content}


ERRORS: dict[int | str, dict[str, Any]] = {
    400: _error("the request or a statement is wrong"),
    401: _error("a token is needed, or is none of ours"),
    403: _error("the token's role or streams do not cover this"),
    404: _error("there is no such thing"),
    409: _error("a name is taken or in use, or the statement was cancelled"),
    413: _error("the body or the answer is larger than the limits"),
    422: _error("a row does not fit, or a key came before with other rows"),
    429: _error("more than the limits allow; Retry-After says when to come again"),
    503: _error("the home is being opened or closed, or Spark has died"),
}
_SQL = {
    "type": "object",
    "required": ["sql"],
    "properties": {"sql": {"type": "string"}},
}
SQL_BODY: dict[str, Any] = {
    "required": True,
    "content": {
        "application/json": {
            "schema": _SQL,
            "examples": {
                "rows": {"value": {"sql": "SELECT count(*) AS n FROM traffic"}},
                "script": {
                    "value": {
                        "sql": "CREATE STREAM traffic (ts TIMESTAMP, car STRING, mph INT) "
                        "TIMESTAMP BY ts FROM push();\n"
                        "CREATE QUERY fast AS SELECT * FROM traffic WHERE mph > 60;"
                    }
                },
            },
        }
    },
}
_RESULT = {
    "type": "object",
    "required": ["columns", "types", "rows"],
    "properties": {
        "columns": {"type": "array", "items": {"type": "string"}},
        "types": {"type": "array", "items": {"type": "string"}},
        "rows": {"type": "array", "items": {"type": "object"}},
        "message": {"type": "string", "description": "what was done, where there are no rows"},
    },
}
RESULTS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "what each statement gave",
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "required": ["results"],
                    "properties": {"results": {"type": "array", "items": _RESULT}},
                },
                "example": {
                    "results": [{"columns": ["n"], "types": ["BIGINT"], "rows": [{"n": 42}]}]
                },
            },
            "text/csv": {"schema": {"type": "string"}, "example": "n\n42\n"},
            "application/x-ndjson": {"schema": {"type": "string"}, "example": '{"n":42}\n'},
            "application/vnd.apache.arrow.stream": {
                "schema": {"type": "string", "format": "binary"}
            },
            "text/event-stream": {
                "schema": {"type": "string"},
                "example": 'event: progress\ndata: {"statement": "8f3a", "seconds": 1.0}\n\n',
            },
        },
    }
}
_ROWS = {"type": "array", "items": {"type": "object"}}
_TWO = [
    {"ts": "2026-01-01T00:00:00Z", "car": "a", "mph": 50},
    {"ts": "2026-01-01T00:00:01Z", "car": "b", "mph": 70},
]
ROWS_BODY: dict[str, Any] = {
    "required": True,
    "content": {
        "application/json": {
            "schema": {"oneOf": [_ROWS, {"type": "object"}]},
            "examples": {"rows": {"value": _TWO}, "row": {"value": _TWO[0]}},
        },
        "application/x-ndjson": {
            "schema": {"type": "string"},
            "example": '{"car": "a", "mph": 50}\n{"car": "b", "mph": 70}\n',
        },
        "text/csv": {"schema": {"type": "string"}, "example": "car,mph\na,50\nb,70\n"},
        "application/vnd.apache.arrow.stream": {"schema": {"type": "string", "format": "binary"}},
    },
}
ACCEPTED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "how many rows were accepted; 0 where they came with this key before",
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "required": ["accepted"],
                    "properties": {
                        "accepted": {"type": "integer", "minimum": 0},
                        "repeated": {"type": "boolean"},
                    },
                },
                "examples": {
                    "taken": {"value": {"accepted": 2}},
                    "repeated": {"value": {"accepted": 0, "repeated": True}},
                },
            }
        },
    }
}
EVENT_STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "rows as they come",
        "content": {
            "text/event-stream": {
                "schema": {"type": "string"},
                "example": 'id: 1-0\ndata: {"car":"b","mph":70}\n\nevent: end\ndata: {}\n\n',
            }
        },
    }
}
