"""What a SELECT gets of a base or a perspective: a row for each cell, by its lower-left corner."""

from penstock.model.schema import Column, Schema

CELLS = Schema(
    (
        Column("time", "timestamp"),
        Column("lat", "double"),
        Column("lon", "double"),
        Column("value", "double"),
        Column("reason", "string"),
    )
)
