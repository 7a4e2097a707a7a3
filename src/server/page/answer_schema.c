#include "server/page/answer_schema.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"

static const struct answer {
	const char *name, *members, *text;
} answers[] = {
#define ANSWER(name, members, text) {#name, members, text},
#define REPORT(name, members, text)
#include "server/page/answer.def"
#undef ANSWER
#undef REPORT
};

/* The types that have no members here. An ANSWER must not have one of their names. */
static const struct plain {
	const char *name, *type;
	const char *format; /* NULL: none */
	bool counts;        /* is never below 0 */
} plains[] = {
	{"unsigned", "integer", NULL, true},   {"integer", "integer", NULL, false},
	{"number", "number", NULL, false},     {"boolean", "boolean", NULL, false},
	{"string", "string", NULL, false},     {"object", "object", NULL, false},
	{"binary", "string", "binary", false},
#define ANSWER(name, members, text)
#define REPORT(name, members, text) {#name, "object", NULL, false},
#include "server/page/answer.def"
#undef ANSWER
#undef REPORT
};

static void put_reference(struct json_writer *json, const char *name, size_t length)
{
	char path[96];

	snprintf(path, sizeof(path), "#/components/schemas/%.*s", (int)length, name);
	json_field_text(json, "$ref", path);
}

/* Writes the fields of a type without [] and ? into the open object. */
static void put_base(struct json_writer *json, const char *name, size_t length)
{
	for (size_t i = 0; i < ARRAY_COUNT(plains); i++) {
		const struct plain *plain = &plains[i];

		if (strlen(plain->name) != length || memcmp(plain->name, name, length))
			continue;
		json_field_text(json, "type", plain->type);
		if (plain->format)
			json_field_text(json, "format", plain->format);
		if (plain->counts)
			json_field_u64(json, "minimum", 0);
		return;
	}
	put_reference(json, name, length);
}

static void put_type(struct json_writer *json, const char *type, size_t length)
{
	json_object(json);
	if (length && type[length - 1] == '?') {
		json_key(json, "anyOf");
		json_array(json);
		put_type(json, type, length - 1);
		json_object(json);
		json_field_text(json, "type", "null");
		json_end(json);
		json_end(json);
	} else if (length > 2 && memcmp(type + length - 2, "[]", 2) == 0) {
		json_field_text(json, "type", "array");
		json_key(json, "items");
		put_type(json, type, length - 2);
	} else {
		put_base(json, type, length);
	}
	json_end(json);
}

void answer_schema_put(struct json_writer *json, const char *type)
{
	put_type(json, type, strlen(type));
}

/* Returns the word at *text, and its length. *text moves behind the mark that ends the word. */
static const char *next(const char **text, const char *marks, size_t *length)
{
	const char *word = *text;

	*length = strcspn(word, marks);
	*text = word + *length;
	*text += strspn(*text, marks);
	return word;
}

/* Writes the members. All of them are required, because an answer always has each. */
static void put_members(struct json_writer *json, const char *members)
{
	const char *rest = members;
	size_t length;

	json_field_text(json, "type", "object");
	json_key(json, "required");
	json_array(json);
	while (*rest) {
		const char *name = next(&rest, ":", &length);

		json_bytes(json, name, length);
		next(&rest, " ", &length);
	}
	json_end(json);
	json_key(json, "properties");
	json_object(json);
	for (rest = members; *rest;) {
		const char *name = next(&rest, ":", &length);
		char key[48];

		snprintf(key, sizeof(key), "%.*s", (int)length, name);
		json_key(json, key);
		name = next(&rest, " ", &length);
		put_type(json, name, length);
	}
	json_end(json);
}

static void put_choice(struct json_writer *json, const char *rows)
{
	size_t length;

	json_key(json, "oneOf");
	json_array(json);
	while (*rows) {
		const char *row = next(&rows, "|", &length);

		put_type(json, row, length);
	}
	json_end(json);
}

void answer_schema_put_all(struct json_writer *json)
{
	json_object(json);
	for (size_t i = 0; i < ARRAY_COUNT(answers); i++) {
		json_key(json, answers[i].name);
		json_object(json);
		json_field_text(json, "description", answers[i].text);
		if (strchr(answers[i].members, ':'))
			put_members(json, answers[i].members);
		else
			put_choice(json, answers[i].members);
		json_end(json);
	}
	json_end(json);
}
