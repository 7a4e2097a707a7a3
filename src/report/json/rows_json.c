#include "report/json/rows_json.h"

#include <ctype.h>
#include <string.h>

static void put_cell(struct json_writer *json, enum sql_kind kind, const char *text)
{
	if (!text || kind == SQL_TEXT)
		json_text(json, text);
	else if (kind == SQL_BOOL)
		json_bool(json, strcmp(text, "true") == 0);
	else if (isdigit((unsigned char)text[*text == '-']))
		json_made(json, text, strlen(text));
	else
		json_null(json); // not a number, or infinite
}

void rows_json_write(struct json_writer *json, struct sql_rows *rows)
{
	json_array(json);
	for (size_t row = 0; row < sql_rows_count(rows); row++) {
		json_object(json);
		for (size_t column = 0; column < sql_rows_columns(rows); column++) {
			json_key(json, sql_rows_name(rows, column));
			put_cell(json, sql_rows_kind(rows, column),
				 sql_rows_cell(rows, column, row));
		}
		json_end(json);
	}
	json_end(json);
}
