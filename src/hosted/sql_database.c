#include "hosted/sql_database.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "hosted/buf.h"
#include "hosted/late_library.h"
#include "hosted/parallel.h"
#include "hosted/vec.h"

/* Versions that gave wrong rows: a condition was lost where a CTE was used twice. */
static const char *const wrong_versions[] = {"v2.0.0", "v2.0.1"};

/* Of DuckDB's C API, https://duckdb.org/docs/stable/clients/c/api: its struct duckdb_result … */
struct duckdb_result {
	uint64_t columns, rows, changed;
	void *column_data;
	char *error;
	void *internal;
};

/* … numbers of its enum duckdb_type … */
enum {
	DUCKDB_BOOLEAN = 1,
	DUCKDB_TINYINT = 2,
	DUCKDB_DOUBLE = 11, /* numbers of all sizes between them */
	DUCKDB_HUGEINT = 16,
	DUCKDB_DECIMAL = 19, /* value_varchar() knows what comes before it, and these */
	DUCKDB_UHUGEINT = 32,
	DUCKDB_NULL = 36,
};

/* … and its functions, without duckdb_ in front. Those with a result return 0 if they succeed. */
static struct {
	const char *(*library_version)(void);
	int (*open)(const char *path, void **database);
	void (*close)(void **database);
	int (*connect)(void *database, void **connection);
	void (*disconnect)(void **connection);
	int (*query)(void *connection, const char *query, struct duckdb_result *result);
	void (*destroy_result)(struct duckdb_result *result);
	const char *(*result_error)(struct duckdb_result *result);
	uint64_t (*column_count)(struct duckdb_result *result);
	uint64_t (*row_count)(struct duckdb_result *result);
	const char *(*column_name)(struct duckdb_result *result, uint64_t column);
	int (*column_type)(struct duckdb_result *result, uint64_t column);
	char *(*value_varchar)(struct duckdb_result *result, uint64_t column, uint64_t row);
	void (*free)(void *memory);
} duckdb;

static const char *const names[] = {
	"duckdb_library_version", "duckdb_open",         "duckdb_close",
	"duckdb_connect",         "duckdb_disconnect",   "duckdb_query",
	"duckdb_destroy_result",  "duckdb_result_error", "duckdb_column_count",
	"duckdb_row_count",       "duckdb_column_name",  "duckdb_column_type",
	"duckdb_value_varchar",   "duckdb_free",
};
static struct late_library library = {
	.names = names, .count = ARRAY_COUNT(names), .table = &duckdb};

struct sql_database {
	void *database;
	void *connection;
	struct buf paths; /* of the tables, as SQL has a list of them */
};

struct sql_rows {
	struct duckdb_result result;
	enum sql_kind *kinds; /* of each column, as the query gives it */
	char *cell;           /* what the last call of sql_rows_cell() made */
};

static struct err *open_library(const char *path)
{
	struct err *err;

	if (!library.is_open)
		library.file = path ? path : "libduckdb.so";
	err = late_library_open(&library);
	for (size_t i = 0; !err && i < ARRAY_COUNT(wrong_versions); i++)
		if (strcmp(duckdb.library_version(), wrong_versions[i]) == 0)
			err = err_create("%s is DuckDB %s, which is known to give wrong rows: "
					 "1.5.6 gives right ones",
					 library.file, wrong_versions[i]);
	return err;
}

struct err *sql_database_open(const char *path, struct sql_database **ret)
{
	cleanup(sql_database_close_at) struct sql_database *database = calloc(1, sizeof(*database));
	struct err *err;
	cleanup(buf_deinit) struct buf settings = BUF_EMPTY;

	if (!database)
		return err_no_memory();
	buf_init(&database->paths);
	err = open_library(path);
	if (err)
		return err;
	if (duckdb.open(NULL, &database->database) ||
	    duckdb.connect(database->database, &database->connection))
		return err_create("%s: DuckDB does not start", library.file);
	// Nothing is loaded from its servers, and no file of its own is written, wherever we are.
	buf_printf(&settings,
		   "SET autoinstall_known_extensions = false; "
		   "SET autoload_known_extensions = false; "
		   "SET temp_directory = ''; SET threads = %zu",
		   parallel_width());
	err = buf_string(&settings) ? sql_database_ask(database, settings.data, NULL)
				    : buf_finish(&settings);
	if (err)
		return err;
	*ret = steal(&database);
	return NULL;
}

void sql_database_close(struct sql_database *database)
{
	if (!database)
		return;
	if (database->connection)
		duckdb.disconnect(&database->connection);
	if (database->database)
		duckdb.close(&database->database);
	buf_deinit(&database->paths);
	free(database);
}

/* Writes a text as SQL has it. */
static void put_quoted(struct buf *buf, const char *text)
{
	buf_char(buf, '\'');
	for (; *text; text++) {
		if (*text == '\'')
			buf_char(buf, '\'');
		buf_char(buf, *text);
	}
	buf_char(buf, '\'');
}

struct err *sql_database_add(struct sql_database *database, const char *name, const char *path)
{
	cleanup(buf_deinit) struct buf query = BUF_EMPTY;

	buf_printf(&query, "CREATE VIEW %s AS SELECT * FROM read_parquet(", name);
	put_quoted(&query, path);
	buf_char(&query, ')');
	if (database->paths.size)
		buf_text(&database->paths, ", ");
	put_quoted(&database->paths, path);
	return buf_string(&query) ? sql_database_ask(database, query.data, NULL)
				  : buf_finish(&query);
}

struct err *sql_database_lock(struct sql_database *database)
{
	cleanup(buf_deinit) struct buf query = BUF_EMPTY;

	buf_text(&query, "SET allowed_paths = [");
	buf_append(&query, &database->paths);
	buf_text(&query, "]; SET enable_external_access = false; SET lock_configuration = true");
	return buf_string(&query) ? sql_database_ask(database, query.data, NULL)
				  : buf_finish(&query);
}

/* What DuckDB says of an error, without the query and a mark below it, which come after that. */
static struct err *make_error(const char *text)
{
	const char *end = text ? strstr(text, "\n\nLINE ") : NULL;
	auto_free char *line = text ? strdup(text) : NULL;

	if (!line)
		return text ? err_no_memory() : err_create("DuckDB failed, and does not say why");
	if (end)
		line[end - text] = '\0';
	for (char *c = line; *c; c++)
		if (*c == '\n')
			*c = ' ';
	return err_create("%s", line);
}

static enum sql_kind kind_of(int type)
{
	if (type == DUCKDB_BOOLEAN)
		return SQL_BOOL;
	return (type >= DUCKDB_TINYINT && type <= DUCKDB_DOUBLE) || type == DUCKDB_HUGEINT ||
			       type == DUCKDB_DECIMAL || type == DUCKDB_UHUGEINT
		       ? SQL_NUMBER
		       : SQL_TEXT;
}

/* Notes what columns are. *ret: whether values of all types can be had as text. */
static struct err *note_kinds(struct sql_rows *rows, bool *ret)
{
	size_t count = sql_rows_columns(rows);

	*ret = true;
	rows->kinds = calloc(count + 1, sizeof(*rows->kinds));
	if (!rows->kinds)
		return err_no_memory();
	for (size_t i = 0; i < count; i++) {
		int type = duckdb.column_type(&rows->result, i);

		rows->kinds[i] = kind_of(type);
		*ret &= type <= DUCKDB_DECIMAL || type == DUCKDB_UHUGEINT || type == DUCKDB_NULL;
	}
	return NULL;
}

/* Asks again, with all values as texts: lists, times with a zone, and others. */
static struct err *ask_texts(struct sql_database *database, const char *query,
			     struct sql_rows *rows)
{
	cleanup(buf_deinit) struct buf texts = BUF_EMPTY;
	size_t size = strlen(query);

	while (size && strchr(" \t\r\n;", query[size - 1]))
		size--;
	buf_text(&texts, "SELECT COLUMNS(*)::VARCHAR FROM (");
	buf_put(&texts, query, size);
	buf_text(&texts, "\n)"); // behind a comment
	if (!buf_string(&texts))
		return buf_finish(&texts);
	duckdb.destroy_result(&rows->result);
	if (duckdb.query(database->connection, texts.data, &rows->result))
		return err_create("a column has values that are no numbers, texts or times: "
				  "CAST(… AS VARCHAR) makes them texts");
	return NULL;
}

struct err *sql_database_ask(struct sql_database *database, const char *query,
			     struct sql_rows **ret)
{
	cleanup(sql_rows_destroy_at) struct sql_rows *rows = calloc(1, sizeof(*rows));
	struct err *err;
	bool plain;

	if (!rows)
		return err_no_memory();
	if (duckdb.query(database->connection, query, &rows->result))
		return make_error(duckdb.result_error(&rows->result));
	err = note_kinds(rows, &plain);
	if (!err && !plain && ret)
		err = ask_texts(database, query, rows);
	if (!err && ret)
		*ret = steal(&rows);
	return err;
}

void sql_rows_destroy(struct sql_rows *rows)
{
	if (!rows)
		return;
	duckdb.free(rows->cell);
	duckdb.destroy_result(&rows->result);
	free(rows->kinds);
	free(rows);
}

size_t sql_rows_count(struct sql_rows *rows)
{
	return duckdb.row_count(&rows->result);
}

size_t sql_rows_columns(struct sql_rows *rows)
{
	return duckdb.column_count(&rows->result);
}

const char *sql_rows_name(struct sql_rows *rows, size_t column)
{
	return duckdb.column_name(&rows->result, column);
}

enum sql_kind sql_rows_kind(const struct sql_rows *rows, size_t column)
{
	return rows->kinds[column];
}

const char *sql_rows_cell(struct sql_rows *rows, size_t column, size_t row)
{
	duckdb.free(rows->cell);
	rows->cell = duckdb.value_varchar(&rows->result, column, row);
	return rows->cell;
}
