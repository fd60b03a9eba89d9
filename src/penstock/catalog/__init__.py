"""Catalogs: what streams, tables and queries there are, remembered as SQL text."""

from penstock.catalog.catalog import Catalog, CatalogEntry, Kind
from penstock.catalog.memory import MemoryCatalog
from penstock.catalog.sqlite import SqlCatalog, SqliteCatalog

__all__ = ["Catalog", "CatalogEntry", "Kind", "MemoryCatalog", "SqlCatalog", "SqliteCatalog"]
