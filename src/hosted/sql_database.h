/*
 * A database in memory that answers SQL: DuckDB (https://duckdb.org), by its library, which is
 * loaded when a database is opened. It reads Parquet files, and nothing else once it is locked.
 *
 *	sql_database_open(NULL, &database);
 *	sql_database_add(database, "sites", "/tmp/x/sites.parquet");
 *	sql_database_lock(database);
 *	err = sql_database_ask(database, "SELECT count(*) FROM sites", &rows);
 *	text = sql_rows_cell(rows, 0, 0);
 */
#ifndef MALLOW_HOSTED_SQL_DATABASE_H
#define MALLOW_HOSTED_SQL_DATABASE_H

#include <stdbool.h>
#include <stddef.h>

#include "hosted/cleanup.h"

struct sql_database;
struct sql_rows;

/*
 * library: the path of libduckdb.so; NULL: where the loader looks for libraries. The only databases
 * of a process have the library of the first one. An error: there is none, it is another library,
 * or a version that is known to answer wrongly.
 */
struct err *sql_database_open(const char *library, struct sql_database **ret);
/* Accepts NULL. */
void sql_database_close(struct sql_database *database);
CLEANUP_DEFINE(struct sql_database *, sql_database_close);

/* Adds a Parquet file, which stays where it is, as a table. name: a word. */
struct err *sql_database_add(struct sql_database *database, const char *name, const char *path);

/*
 * From now on queries read no file but those of the tables, write none, load no extension and
 * change no setting.
 */
struct err *sql_database_lock(struct sql_database *database);

/*
 * *ret: what the last statement of the query answers. An error is DuckDB's, in one line. *ret must
 * be freed before the database.
 */
struct err *sql_database_ask(struct sql_database *database, const char *query,
			     struct sql_rows **ret);
/* Accepts NULL. */
void sql_rows_destroy(struct sql_rows *rows);
CLEANUP_DEFINE(struct sql_rows *, sql_rows_destroy);

size_t sql_rows_count(struct sql_rows *rows);
size_t sql_rows_columns(struct sql_rows *rows);
const char *sql_rows_name(struct sql_rows *rows, size_t column);

enum sql_kind { SQL_TEXT, SQL_NUMBER, SQL_BOOL };

/* What values of the column are: SQL_TEXT for all that is neither number nor bool. */
enum sql_kind sql_rows_kind(const struct sql_rows *rows, size_t column);

/* A value as text, until the next call. NULL: it is null. */
const char *sql_rows_cell(struct sql_rows *rows, size_t column, size_t row);

#endif
