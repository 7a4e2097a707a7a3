#include "server/data/query.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "hosted/cleanup.h"

void query_deinit(struct query *query)
{
	vec_deinit(&query->items);
	free(query->text);
	*query = (struct query){0};
}

static unsigned int hex(char c)
{
	return isdigit((unsigned char)c) ? (unsigned int)(c - '0')
					 : (unsigned int)(tolower((unsigned char)c) - 'a' + 10);
}

/* Decodes text in place. false: it contains a zero byte. */
static bool decode(char *text)
{
	char *to = text;

	for (const char *from = text; *from; from++) {
		if (*from == '%' && isxdigit((unsigned char)from[1]) &&
		    isxdigit((unsigned char)from[2])) {
			*to = (char)(hex(from[1]) << 4 | hex(from[2]));
			if (!*to)
				return false;
			from += 2;
		} else {
			*to = *from == '+' ? ' ' : *from;
		}
		to++;
	}
	*to = 0;
	return true;
}

static struct err *parse_items(char *text, struct query *query)
{
	char *item;

	while ((item = strsep(&text, "&"))) {
		char *value = item;
		char *name = strsep(&value, "=");

		if (!*name && !value)
			continue;
		if (!decode(name) || (value && !decode(value)))
			return err_create("the query holds a zero byte");
		if (!vec_push(&query->items, (struct query_item){name, value ? value : ""}))
			return err_no_memory();
	}
	return NULL;
}

struct err *query_parse(const char *target, struct query *ret)
{
	cleanup(query_deinit) struct query query = {.text = strdup(target)};
	struct err *err = NULL;
	char *rest = query.text;

	if (!query.text)
		return err_no_memory();
	query.path = strsep(&rest, "?");
	if (rest)
		err = parse_items(rest, &query);
	if (err)
		return err;
	*ret = query;
	query = (struct query){0};
	return NULL;
}
