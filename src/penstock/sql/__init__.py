"""SQL text in, statements out: Spark SQL, with streams, queries and windows."""

from penstock.sql.dialect import Penstock
from penstock.sql.modifiers import ModifierCall, modifier_of
from penstock.sql.parse import parse, parse_select
from penstock.sql.statements import (
    CreateQuery,
    CreateStream,
    CreateTable,
    Describe,
    Drop,
    Explain,
    ExplainAll,
    ExplainEstimate,
    ExplainSchedule,
    Form,
    Punctuate,
    ResumeQuery,
    SelectOnce,
    SetDecider,
    Show,
    Statement,
    StopQuery,
)
from penstock.sql.trees import spark_sql, to_sql, window_of, without_windows

__all__ = [
    "CreateQuery",
    "CreateStream",
    "CreateTable",
    "Describe",
    "Drop",
    "Explain",
    "ExplainAll",
    "ExplainEstimate",
    "ExplainSchedule",
    "Form",
    "ModifierCall",
    "Penstock",
    "Punctuate",
    "ResumeQuery",
    "SelectOnce",
    "SetDecider",
    "Show",
    "Statement",
    "StopQuery",
    "modifier_of",
    "parse",
    "parse_select",
    "spark_sql",
    "to_sql",
    "window_of",
    "without_windows",
]
