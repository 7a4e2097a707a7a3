#include "server/data/columns.h"

#include <stdio.h>
#include <string.h>

#include "hosted/csv_writer.h"

void columns_deinit(struct columns *columns)
{
	vec_deinit(&columns->all);
	vec_deinit(&columns->values);
	arena_deinit(&columns->texts);
}

void columns_object(struct columns *columns, const char *key, const char *word)
{
	size_t length = strlen(columns->prefix);

	if (columns->json && key)
		json_key(columns->json, key);
	if (columns->json)
		json_object(columns->json);
	columns->lengths[columns->depth++] = length;
	snprintf(columns->prefix + length, sizeof(columns->prefix) - length, "%s_", word);
}

void columns_object_end(struct columns *columns)
{
	if (columns->json)
		json_end(columns->json);
	columns->prefix[columns->lengths[--columns->depth]] = 0;
}

void columns_begin(struct columns *columns, const char *key)
{
	struct column column = {.first = columns->values.count, .places = columns->places};
	char name[sizeof(columns->prefix) + 32];

	if (columns->json) {
		json_key(columns->json, key);
		json_array(columns->json);
		return;
	}
	snprintf(name, sizeof(name), "%s%s", columns->prefix, key);
	column.name = arena_text(&columns->texts, name);
	columns->failed |= !column.name || !vec_push(&columns->all, column);
}

void columns_end(struct columns *columns)
{
	if (columns->json)
		json_end(columns->json);
}

void columns_missing(struct columns *columns, const char *key)
{
	if (!columns->json)
		return;
	json_key(columns->json, key);
	json_null(columns->json);
}

static void keep_value(struct columns *columns, struct columns_value value)
{
	columns->failed |= !vec_push(&columns->values, value);
}

void columns_u64(struct columns *columns, uint64_t value)
{
	if (columns->json)
		json_u64(columns->json, value);
	else
		keep_value(columns, (struct columns_value){COLUMNS_UNSIGNED, {.number = value}});
}

void columns_i64(struct columns *columns, int64_t value)
{
	if (columns->json)
		json_i64(columns->json, value);
	else
		keep_value(columns, (struct columns_value){COLUMNS_SIGNED, {.change = value}});
}

void columns_text(struct columns *columns, const char *text)
{
	if (!text) {
		columns_null(columns);
	} else if (columns->json) {
		json_text(columns->json, text);
	} else {
		const char *copy = arena_text(&columns->texts, text);

		columns->failed |= !copy;
		keep_value(columns, (struct columns_value){COLUMNS_TEXT, {.text = copy}});
	}
}

void columns_bool(struct columns *columns, bool value)
{
	if (columns->json)
		json_bool(columns->json, value);
	else
		columns_text(columns, value ? "true" : "false");
}

void columns_null(struct columns *columns)
{
	if (columns->json)
		json_null(columns->json);
	else
		keep_value(columns, (struct columns_value){.kind = COLUMNS_NULL});
}

static void put_value(struct csv_writer *csv, const struct columns_value *value)
{
	switch (value->kind) {
	case COLUMNS_NULL:
		csv_empty(csv);
		break;
	case COLUMNS_UNSIGNED:
		csv_u64(csv, value->number);
		break;
	case COLUMNS_SIGNED:
		csv_i64(csv, value->change);
		break;
	case COLUMNS_TEXT:
		csv_text(csv, value->text);
		break;
	}
}

struct err *columns_write(const struct columns *columns, uint64_t rows, struct buf *buf)
{
	struct csv_writer csv = {.buf = buf};

	if (columns->failed)
		return err_no_memory();
	for (size_t i = 0; i < columns->all.count; i++)
		csv_text(&csv, columns->all.items[i].name);
	csv_end_row(&csv);
	for (uint64_t row = 0; row < rows; row++) {
		for (size_t i = 0; i < columns->all.count; i++) {
			const struct column *column = &columns->all.items[i];
			uint64_t place = column->places ? column->places[row] : row;

			if (place == UINT32_MAX)
				csv_empty(&csv);
			else
				put_value(&csv, &columns->values.items[column->first + place]);
		}
		csv_end_row(&csv);
	}
	return NULL;
}
