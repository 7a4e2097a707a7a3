/* mallow sql: questions in SQL, about any number of recordings. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "cli/cli.h"
#include "cli/options/moment_operand.h"
#include "cli/options/shared_options.h"
#include "cli/output/output.h"
#include "cli/output/terminal.h"
#include "cli/recordings/loaded.h"
#include "cli/recordings/newest.h"
#include "cli/report/exporter.h"
#include "hosted/cleanup.h"
#include "hosted/files/cache_folder.h"
#include "report/csv/rows_csv.h"
#include "report/json/rows_json.h"
#include "report/text/rows_text.h"

enum { CSV, JSON, TABLES, KEEP, DUCKDB, WIDTH, PLUMBING, DEBUG_SYMBOLS, SYSROOT };

static const struct option_spec options_of_sql[] = {
	[CSV] = {.name = "csv",
		 .value = "raw",
		 .flag = true,
		 .text = "as CSV with a header row; texts that a spreadsheet would run get an "
			 "apostrophe in front, with =raw they stay as they are"},
	[JSON] = {.name = "json", .text = "as JSON: an array with an object for each row"},
	[TABLES] = {.name = "tables", .text = "the tables, and what each column says"},
	[KEEP] = {.name = "keep",
		  .text = "leave the tables, as export --to parquet writes them, in a new folder "
			  "below TMPDIR or /tmp, and say where"},
	[DUCKDB] = {.name = "duckdb",
		    .value = "FILE",
		    .text = "DuckDB's library; if not given, libduckdb.so where the system has "
			    "libraries"},
	[WIDTH] = WIDTH_OPTION,
	[PLUMBING] = PLUMBING_OPTION,
	[DEBUG_SYMBOLS] = DEBUG_SYMBOLS_OPTION,
	[SYSROOT] = SYSROOT_OPTION,
};

static const int exclusive[][2] = {{CSV, JSON}};

#define INSTALL                                                                                    \
	"DuckDB's library comes by `npm install @duckdb/node-bindings-linux-x64@1.5.6-r.1`, or "   \
	"as libduckdb-linux-amd64.zip from duckdb.org; then --duckdb FILE"

struct sql {
	const struct options *options;
	const struct recording_paths *paths;
	struct naming naming;
	struct style style;
	struct sql_database *database;
	char folder[PATH_MAX]; /* of --keep */
	size_t added;          /* recordings in the tables */
};

static void put_tables(struct buf *buf, const struct style *style)
{
	for (enum table table = 0; table < TABLE_COUNT; table++) {
		struct table_info info = table_info(table);

		style_printf(buf, style, STYLE_STRONG, "%s%s", table ? "\n" : "", info.name);
		buf_text(buf, "  a row is ");
		style_wrap(buf, style, info.text, strlen(info.name) + 11, 4, false);
		for (size_t i = 0; i < info.column_count; i++) {
			buf_printf(buf, "  %-14s", info.columns[i].name);
			style_wrap(buf, style, info.texts[i], 16, 16, false);
		}
	}
}

/* Adds the recordings. One that cannot be opened is left out; an error was printed. */
static struct err *add_recordings(void *argument, struct tables *tables)
{
	struct sql *sql = argument;
	struct err *err = NULL;

	for (size_t i = 0; !err && i < sql->paths->items.count; i++) {
		const char *path = sql->paths->items.items[i];
		cleanup(loaded_close) struct loaded loaded = {0};
		struct export_subject subject = {0};

		if (!loaded_open_filterable(path, &sql->naming, &loaded))
			continue;
		subject.recording = subject.blocks = loaded.recording;
		subject.symbolized = loaded.symbolized;
		err = err_prefix(tables_add(tables, &subject), "%s", path);
		sql->added += !err;
	}
	return err;
}

/* Files that are gone with their descriptors, so that not even a kill leaves them behind. */
struct nameless {
	struct buf bufs[TABLE_COUNT];
	int fds[TABLE_COUNT];
	int count;
};

static void nameless_deinit(struct nameless *files)
{
	while (files->count--) {
		buf_deinit(&files->bufs[files->count]);
		close(files->fds[files->count]);
	}
}

static struct err *write_nameless(struct sql *sql, struct nameless *files)
{
	cleanup(tables_destroy_at) struct tables *tables = NULL;
	struct buf *bufs[TABLE_COUNT];
	struct err *err;

	for (; files->count < TABLE_COUNT; files->count++) {
		int fd = cache_folder_nameless();

		if (fd < 0)
			return err_create_errno(errno, "cannot make a temporary file");
		files->fds[files->count] = fd;
		bufs[files->count] = &files->bufs[files->count];
		buf_init_fd(bufs[files->count], fd, "a temporary file");
	}
	err = tables_create(bufs, &tables);
	if (!err)
		err = add_recordings(sql, tables);
	return err ? err : tables_finish(tables);
}

/* Writes the tables into a new folder, and says where it is. */
static struct err *write_kept(struct sql *sql)
{
	const char *place = getenv("TMPDIR");
	struct err *err;

	snprintf(sql->folder, sizeof(sql->folder), "%s/mallow-sql-XXXXXX",
		 place && place[0] == '/' ? place : "/tmp");
	if (!mkdtemp(sql->folder))
		return err_create_errno(errno, "cannot make '%s'", sql->folder);
	err = exporter_write_tables(sql->folder, add_recordings, sql);
	if (err || !sql->added)
		rmdir(sql->folder);
	else
		cli_error(CLI_OK, "the tables are in %s", sql->folder);
	return err;
}

static struct err *open_database(struct sql *sql)
{
	cleanup(cleanup_free_at) char *file = NULL;
	const char *typed = sql->options->values[DUCKDB];
	struct err *err;

	// A name without a folder is one in the working directory, not the loader's.
	if (typed && !(file = realpath(typed, NULL)))
		return err_create_errno(errno, "cannot open '%s'", typed);
	err = sql_database_open(file, &sql->database);
	if (err && !typed && !err_is_shortage(err)) {
		struct err *told = err_create("%s; " INSTALL, err_message(err));

		err_destroy(err);
		return told;
	}
	return err;
}

/* Makes the database's tables. */
static struct err *open_tables(struct sql *sql, struct nameless *files)
{
	char path[PATH_MAX];
	struct err *err = NULL;

	for (enum table table = 0; !err && table < TABLE_COUNT; table++) {
		struct table_info info = table_info(table);

		if (files->count)
			snprintf(path, sizeof(path), "/proc/self/fd/%d", files->fds[table]);
		else
			snprintf(path, sizeof(path), "%.*s/%s", PATH_MAX - 64, sql->folder,
				 info.file);
		err = sql_database_add(sql->database, info.name, path);
	}
	return err ? err : sql_database_lock(sql->database);
}

static struct err *write_rows(const struct sql *sql, struct output *output, struct sql_rows *rows)
{
	const struct options *options = sql->options;
	struct csv_writer csv = {.buf = &output->buf, .raw = csv_option_raw(options, CSV)};
	struct json_writer json;

	if (!options->values[CSV] && !options->values[JSON])
		return rows_text_write(&output->buf, &sql->style, rows);
	output->buf.shown = false;
	if (options->values[CSV]) {
		rows_csv_write(&csv, rows);
		return NULL;
	}
	json_init(&json, &output->buf, true);
	rows_json_write(&json, rows);
	return NULL;
}

/* page: of a text that is longer than the terminal. */
static struct err *answer(const struct sql *sql, const char *query, bool page)
{
	cleanup(sql_rows_destroy_at) struct sql_rows *rows = NULL;
	struct output output;
	struct err *err = sql_database_ask(sql->database, query, &rows);

	if (!err)
		err = page ? output_open_page(&output) : output_open(NULL, &output);
	return err ? err : output_close(&output, write_rows(sql, &output, rows));
}

/* Answers what is typed, a query until the semicolon at the end of a line, until Ctrl-D. */
static struct err *answer_typed(const struct sql *sql)
{
	cleanup(buf_deinit) struct buf query = BUF_EMPTY;
	auto_free char *line = NULL;
	size_t room = 0;
	ssize_t got;

	fprintf(stderr, "A query ends with a semicolon, `SHOW TABLES;` lists what there is, Ctrl-D "
			"ends.\n");
	for (;;) {
		fputs(query.size ? "   ...> " : "mallow> ", stderr);
		got = getline(&line, &room, stdin);
		if (got < 0)
			break;
		while (got && strchr(" \t\r\n", line[got - 1]))
			got--;
		buf_put(&query, line, (size_t)got);
		if (!query.size || query.data[query.size - 1] != ';') {
			if (query.size)
				buf_char(&query, '\n');
			continue;
		}
		if (!buf_string(&query))
			return buf_finish(&query);
		cli_report_err(answer(sql, query.data, false));
		query.size = 0;
	}
	fputc('\n', stderr);
	return NULL;
}

/* query: NULL: they are typed. */
static struct err *answer_all(const struct sql *sql, const char *query)
{
	cleanup(buf_deinit) struct buf text = BUF_EMPTY;
	struct err *err;

	if (!query)
		return answer_typed(sql);
	if (strcmp(query, "-") != 0)
		return answer(sql, query, true);
	err = text_file_read("/dev/stdin", "a query", &text);
	if (err)
		return err;
	return buf_string(&text) ? answer(sql, text.data, true) : buf_finish(&text);
}

static struct err *ask_recordings(struct sql *sql, const char *query)
{
	cleanup(nameless_deinit) struct nameless files = {0};
	bool keep = sql->options->values[KEEP] != NULL;
	struct err *err = keep ? write_kept(sql) : open_database(sql);

	if (!err)
		err = keep ? NULL : write_nameless(sql, &files);
	if (err || !sql->added)
		return err;
	if (keep)
		err = open_database(sql);
	if (!err)
		err = open_tables(sql, &files);
	return err ? err : answer_all(sql, query);
}

static int show_tables(const struct command *command, const struct options *options,
		       const struct style *style)
{
	struct output output;
	struct err *err;

	if (!options_operands(command, options, 0, 0, "nothing"))
		return CLI_USAGE;
	err = output_open_page(&output);
	if (err)
		return cli_report_err(err);
	put_tables(&output.buf, style);
	return cli_report_err(output_close(&output, NULL));
}

/*
 * Takes the query off the operands. *ret NULL: there is none, and they are typed. false: there is
 * none, and nobody types; an error was printed.
 */
static bool take_query(struct options *options, const char **ret)
{
	const char *first = options->operand_count ? options->operands[0] : NULL;

	*ret = NULL;
	// A file of that name is a recording: nobody calls one as a query reads.
	if (first && (strcmp(first, "-") == 0 || access(first, F_OK) < 0)) {
		*ret = first;
		options->operands++;
		options->operand_count--;
	} else if (!isatty(STDIN_FILENO)) {
		cli_error(CLI_USAGE, "'sql' needs a query, or - for standard input; "
				     "mallow sql --tables says what can be asked");
		return false;
	}
	return true;
}

static int run_sql(const struct command *command, const struct options *given)
{
	struct options all = *given;
	cleanup(recording_paths_deinit) struct recording_paths paths = {0};
	cleanup(sql_database_close_at) struct sql_database *database = NULL;
	struct sql sql = {.options = &all, .paths = &paths, .style = terminal_page(STDOUT_FILENO)};
	uint64_t width = sql.style.width;
	const char *query;
	struct err *err;

	if (!csv_option(command, &all, CSV) ||
	    !options_exclusive(command, &all, exclusive, ARRAY_COUNT(exclusive)) ||
	    !options_limited(command, &all, WIDTH, 0, width, UINT16_MAX, &width))
		return CLI_USAGE;
	sql.style.width = (unsigned)width;
	if (all.values[TABLES])
		return show_tables(command, &all, &sql.style);
	if (!take_query(&all, &query) || !newest_operand(command, &all) ||
	    !moment_operands_refuse(command, &all))
		return CLI_USAGE;
	err = recording_paths_find(&all, &paths);
	if (err)
		return cli_report_err(err);
	if (!naming_options_open(&all, PLUMBING, &sql.naming))
		return CLI_FAILED;
	err = ask_recordings(&sql, query);
	naming_options_close(&sql.naming);
	database = sql.database;
	if (err)
		return cli_report_err(err);
	return paths.failed || sql.added < paths.items.count ? CLI_FAILED : CLI_OK;
}

const struct command_body command_sql = {
	.options = options_of_sql,
	.option_count = ARRAY_COUNT(options_of_sql),
	.names = true,
	.coloured = true,
	.paged = true,
	.run = run_sql,
	.details =
		"A recording may be a directory of them; without one, your newest in the working "
		"directory. The tables have all of their runs: mallow sql --tables. Queries are "
		"DuckDB's, and see nothing but the tables: no files, no network.\n\n"
		"Without a query, in a terminal: queries are typed. - reads one from standard "
		"input.\n\n" INSTALL ".",
};
