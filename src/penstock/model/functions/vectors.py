"""Vector columns: FLOAT, DOUBLE, COMPLEX and DOUBLE COMPLEX VECTOR.

To Spark a vector is BINARY, its elements packed one behind the other (docs/decisions/0020); what
they are goes along as the column's metadata.
"""

from penstock.model.schema import Column

VECTOR = "vector"  # the word behind an element's, and the key of the metadata
ELEMENTS = ("float", "double", "complex", "double complex")
# Of one vector. A batch of Spark's is not larger, and the JVM holds a value several times over: one
# of 300 MB ended a JVM of 2 GB.
MOST_BYTES = 64 << 20
VECTORS = tuple(f"{element} {VECTOR}" for element in ELEMENTS)


def element_of(column: Column) -> str | None:
    """Return what a vector column's elements are, or None where it holds no vectors."""
    return column.type.removesuffix(f" {VECTOR}") if column.type in VECTORS else None


def vector_type(element: str) -> str:
    """Return the type of vectors of such elements."""
    return f"{element} {VECTOR}"
