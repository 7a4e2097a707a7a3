/*
 * libFuzzer target: the target of a request. What is taken apart must be what a second, simpler
 * decoder makes of it, and is then what its route would look at: conditions of a filter.
 */
#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/filter/filter.h"
#include "server/http/query.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* text[0 … size) decoded into ret; -1: it holds a zero byte. */
static long decode(const char *text, size_t size, char *ret)
{
	long length = 0;

	for (size_t i = 0; i < size; i++) {
		char digits[3] = {0}, byte = text[i];

		if (byte == '+')
			byte = ' ';
		if (byte == '%' && i + 2 < size && isxdigit((unsigned char)text[i + 1]) &&
		    isxdigit((unsigned char)text[i + 2])) {
			memcpy(digits, text + i + 1, 2);
			byte = (char)strtoul(digits, NULL, 16);
			i += 2;
		}
		if (!byte)
			return -1;
		ret[length++] = byte;
	}
	ret[length] = '\0';
	return length;
}

/* The item that begins there, as the parser has it. false: it must have refused it. */
static bool check_part(const char *text, size_t size, const char *parsed)
{
	char *expected = malloc(size + 1);
	bool valid = decode(text, size, expected) >= 0;

	if (valid && parsed && strcmp(expected, parsed) != 0)
		abort();
	free(expected);
	return valid;
}

/* Walks over the items of the text; query: NULL, it was refused. */
static void check(const char *text, const struct query *query)
{
	const char *items = strchr(text, '?');
	size_t count = 0;
	bool valid = true;

	for (const char *at = items; at; at = strchr(at, '&')) {
		size_t size = strcspn(++at, "&"), name = strcspn(at, "=&");
		const struct query_item *item =
			query && count < query->items.count ? &query->items.items[count] : NULL;

		if (!size)
			continue;
		count++;
		if (query && !item)
			abort();
		valid &= check_part(at, name, item ? item->name : NULL);
		if (name < size)
			valid &= check_part(at + name + 1, size - name - 1,
					    item ? item->value : NULL);
		else if (item && *item->value)
			abort();
	}
	if (valid != (query != NULL) || (query && query->items.count != count))
		abort();
}

static void set_conditions(const struct query *query)
{
	struct filter *filter;

	if (filter_create(&filter))
		abort();
	for (size_t i = 0; i < query->items.count; i++)
		err_destroy(filter_set(filter, query->items.items[i].name,
				       query->items.items[i].value));
	filter_destroy(filter);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct query query = {0};
	struct err *err;

	if (!text)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	err = query_parse(text, &query);
	check(text, err ? NULL : &query);
	if (!err)
		set_conditions(&query);
	err_destroy(err);
	query_deinit(&query);
	free(text);
	return 0;
}
