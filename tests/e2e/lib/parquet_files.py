"""Parquet files as DuckDB's library reads them, without mallow: by its C API and ctypes."""
import ctypes

from export_readers import node_module

PACKAGE = "@duckdb/node-bindings-linux-x64"
TABLES = ["runs", "sites", "stacks", "frames", "blocks", "series", "threads"]
VARCHAR = 17


def library():
    """The path of libduckdb.so, or the test is skipped and says so."""
    return node_module(f"{PACKAGE}/libduckdb.so")


class Result(ctypes.Structure):
    _fields_ = [("fields", ctypes.c_uint64 * 6)]


class Files:
    """The tables of a folder that `mallow export --to parquet` wrote."""

    def __init__(self, folder):
        self.duckdb = ctypes.CDLL(library())
        self.duckdb.duckdb_result_error.restype = self.duckdb.duckdb_column_name.restype = ctypes.c_char_p
        self.duckdb.duckdb_value_varchar.restype = ctypes.c_void_p
        for name in "row_count", "column_count":
            getattr(self.duckdb, f"duckdb_{name}").restype = ctypes.c_uint64
        database, self.connection = ctypes.c_void_p(), ctypes.c_void_p()
        assert not self.duckdb.duckdb_open(None, ctypes.byref(database))
        assert not self.duckdb.duckdb_connect(database, ctypes.byref(self.connection))
        for table in TABLES:
            self.ask(f"CREATE VIEW {table} AS SELECT * FROM '{folder}/{table}.parquet'")

    def ask(self, query):
        """Rows as dicts: texts, integers and None."""
        result, duckdb = Result(), self.duckdb
        if duckdb.duckdb_query(self.connection, query.encode(), ctypes.byref(result)):
            raise ValueError(duckdb.duckdb_result_error(ctypes.byref(result)).decode())
        at = ctypes.byref(result)
        names = [duckdb.duckdb_column_name(at, ctypes.c_uint64(column)).decode()
                 for column in range(duckdb.duckdb_column_count(at))]
        texts = [duckdb.duckdb_column_type(at, ctypes.c_uint64(column)) == VARCHAR for column in range(len(names))]
        rows = []
        for row in range(duckdb.duckdb_row_count(at)):
            cells = {}
            for column, name in enumerate(names):
                value = duckdb.duckdb_value_varchar(at, ctypes.c_uint64(column), ctypes.c_uint64(row))
                text = value and ctypes.string_at(value).decode()
                cells[name] = text if texts[column] or text is None else int(text)
                duckdb.duckdb_free(ctypes.c_void_p(value))
            rows.append(cells)
        duckdb.duckdb_destroy_result(at)
        return rows
