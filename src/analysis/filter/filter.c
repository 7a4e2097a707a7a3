#include "analysis/filter/filter.h"

#include <string.h>

#include "analysis/filter/filter_data.h"
#include "hosted/cleanup.h"
#include "trace/operation.h"

enum filter_kind {
	KIND_MOMENT,
	KIND_INTERVAL,
	KIND_PERCENT_INTERVAL,
	KIND_SIZE,
	KIND_NUMBER,
	KIND_PERCENT_NUMBER,
	KIND_REGEX,
	KIND_CHOICE,
	KIND_ENTRY,
	KIND_SUPPRESSIONS,
	KIND_TEXT,
};

static const struct filter_parameter parameters[FILTER_COUNT] = {
#define FILTER(NAME, name, kind, value, choices, text)                                             \
	[FILTER_##NAME] = {name, value, text, choices},
#include "analysis/filter/filter.def"
#undef FILTER
};

static const enum filter_kind kinds[FILTER_COUNT] = {
#define FILTER(NAME, name, kind, value, choices, text) [FILTER_##NAME] = KIND_##kind,
#include "analysis/filter/filter.def"
#undef FILTER
};

const struct filter_parameter *filter_parameters(size_t *count)
{
	*count = FILTER_COUNT;
	return parameters;
}

struct err *filter_create(struct filter **ret)
{
	struct filter *filter = calloc(1, sizeof(*filter));

	if (!filter)
		return err_no_memory();
	*ret = filter;
	return NULL;
}

static void condition_deinit(struct filter_condition *condition)
{
	free(condition->name);
	free(condition->text);
	regex_destroy(condition->regex);
	suppressions_destroy(condition->suppressions);
	*condition = (struct filter_condition){0};
}

void filter_destroy(struct filter *filter)
{
	if (!filter)
		return;
	for (size_t i = 0; i < FILTER_COUNT; i++)
		condition_deinit(&filter->conditions[i]);
	free(filter);
}

/* Whether the user typed the parameter `name`. */
static bool is_name(const char *typed, const char *name)
{
	while (*typed == '-')
		typed++;
	while (*typed && (*typed == *name || (*typed == '-' && *name == '_'))) {
		typed++;
		name++;
	}
	return !*typed && !*name;
}

void filter_option_name(const char *condition, char *ret)
{
	if (strcmp(condition, parameters[FILTER_ALIVE_AT].name) == 0)
		condition = FILTER_OPTION_AT;
	snprintf(ret, FILTER_OPTION_SIZE, "%s", condition);
	for (; *ret; ret++)
		*ret = *ret == '_' ? '-' : *ret;
}

/* Whether the user typed the condition `name`, or its option. */
static bool is_condition(const char *typed, const char *name)
{
	char option[FILTER_OPTION_SIZE];

	filter_option_name(name, option);
	return is_name(typed, name) || is_name(typed, option);
}

/*
 * Reads a decimal number, or a hexadecimal one with 0x. *ret: what follows. false: no number, or
 * too large.
 */
static bool take_number(const char *text, uint64_t *number, const char **ret)
{
	bool hex = text[0] == '0' && (text[1] | 0x20) == 'x';
	const char *first = hex ? text + 2 : text, *c = first;
	uint64_t value = 0;

	for (;; c++) {
		unsigned int digit = (unsigned char)*c;

		if (digit >= '0' && digit <= '9')
			digit -= '0';
		else if (hex && (digit | 0x20) >= 'a' && (digit | 0x20) <= 'f')
			digit = (digit | 0x20) - 'a' + 10;
		else
			break;
		if (__builtin_mul_overflow(value, hex ? 16u : 10u, &value) ||
		    __builtin_add_overflow(value, digit, &value))
			return false;
	}
	*number = value;
	*ret = c;
	return c > first;
}

static bool parse_number(const char *text, uint64_t *ret)
{
	return take_number(text, ret, &text) && !*text;
}

static bool parse_size(const char *text, uint64_t *ret)
{
	static const char units[] = "kmg";
	unsigned int shift = 0;
	const char *unit;

	if (!take_number(text, ret, &text))
		return false;
	if (*text) {
		unit = strchr(units, *text | 0x20);
		if (!unit || text[1])
			return false;
		shift = 10 * (unsigned int)(unit - units + 1);
	}
	if (*ret > UINT64_MAX >> shift)
		return false;
	*ret <<= shift;
	return true;
}

static bool parse_choice(const char *choices, const char *text, uint64_t *ret)
{
	size_t length = strlen(text);

	for (uint64_t i = 0; *choices; i++) {
		size_t word = strcspn(choices, " ");

		if (word == length && memcmp(choices, text, length) == 0) {
			*ret = i;
			return true;
		}
		choices += word;
		choices += *choices == ' ';
	}
	return false;
}

/* *ret: a bit for each operation of that name: realloc of NULL is one, that of a block another. */
static bool parse_entry(const char *text, uint64_t *ret)
{
	*ret = 0;
	for (uint64_t i = 1; i <= TRACE_OP_REALLOCARRAY; i++)
		if (strcmp(operation_name(i), text) == 0)
			*ret |= UINT64_C(1) << i;
	return *ret != 0;
}

/* Parses condition->text into the other members. */
static bool parse(enum filter_id id, struct filter_condition *condition)
{
	const char *text = condition->text;
	uint64_t *number = &condition->number;

	switch (kinds[id]) {
	case KIND_MOMENT:
		return moment_parse(text, &condition->moment);
	case KIND_PERCENT_INTERVAL:
		condition->percent = percent_parse(text, number);
		return condition->percent || interval_parse(text, number);
	case KIND_INTERVAL:
		return interval_parse(text, number);
	case KIND_SIZE:
		return parse_size(text, number);
	case KIND_PERCENT_NUMBER:
		condition->percent = percent_parse(text, number);
		return condition->percent || parse_number(text, number);
	case KIND_NUMBER:
		return parse_number(text, number);
	case KIND_CHOICE:
		return parse_choice(parameters[id].choices, text, number);
	case KIND_ENTRY:
		return parse_entry(text, number);
	case KIND_REGEX:
	case KIND_SUPPRESSIONS:
	case KIND_TEXT:
		return *text != 0;
	}
	return false;
}

/* ", malloc, calloc …" */
static const char entries[] =
#define ENTRY(number, NAME, name, aligned) ", " name
#include "trace/entries.def"
	;
#undef ENTRY

static const char *allowed(enum filter_id id)
{
	switch (kinds[id]) {
	case KIND_MOMENT:
		return moment_allowed;
	case KIND_PERCENT_INTERVAL:
		return "a time such as 500ms, 2s or 1h2m3s, or a percentage of the run such as "
		       "12.5%";
	case KIND_INTERVAL:
		return "a time such as 500ms, 2s or 1h2m3s";
	case KIND_SIZE:
		return "a size such as 4096, 64K, 10M or 1G";
	case KIND_PERCENT_NUMBER:
		return "a whole number, or a percentage such as 12.5%";
	case KIND_NUMBER:
		return "a whole number";
	case KIND_CHOICE:
		return parameters[id].choices;
	case KIND_REGEX:
		return "a regular expression";
	case KIND_ENTRY:
		return &entries[2];
	case KIND_SUPPRESSIONS:
		return "leak:PATTERN, a line for each pattern,";
	case KIND_TEXT:
		break;
	}
	return "a text that is not empty";
}

static struct err *read_suppressions(struct filter_condition *condition)
{
	struct err *err = suppressions_create(&condition->suppressions);

	return err ? err
		   : suppressions_add(condition->suppressions, condition->name, condition->text,
				      strlen(condition->text));
}

static struct err *fill(enum filter_id id, struct filter_condition *condition)
{
	if (!parse(id, condition))
		return err_create(
			"'%s' is no value of %s: %s%s is wanted", condition->text, condition->name,
			kinds[id] == KIND_CHOICE || kinds[id] == KIND_ENTRY ? "one of " : "",
			allowed(id));
	if (kinds[id] == KIND_SUPPRESSIONS)
		return read_suppressions(condition);
	if (kinds[id] != KIND_REGEX)
		return NULL;
	return err_prefix(regex_create(condition->text, &condition->regex),
			  "'%s' is no value of %s", condition->text, condition->name);
}

struct err *filter_set(struct filter *filter, const char *name, const char *value)
{
	cleanup(condition_deinit) struct filter_condition condition = {0};
	struct err *err;
	size_t id = 0;

	while (id < FILTER_COUNT && !is_condition(name, parameters[id].name))
		id++;
	if (id == FILTER_COUNT)
		return err_create("there is no condition '%s'", name);
	condition.name = strdup(name);
	condition.text = strdup(value);
	if (!condition.name || !condition.text)
		return err_no_memory();
	err = fill((enum filter_id)id, &condition);
	if (err)
		return err;
	condition_deinit(&filter->conditions[id]);
	filter->conditions[id] = condition;
	condition = (struct filter_condition){0};
	return NULL;
}

bool filter_is_empty(const struct filter *filter)
{
	for (size_t i = 0; i < FILTER_COUNT; i++)
		if (filter_value(filter, i))
			return false;
	return true;
}

const char *filter_value(const struct filter *filter, size_t parameter)
{
	return filter->conditions[parameter].text;
}

const char *filter_alive_at(const struct filter *filter)
{
	return filter ? filter_value(filter, FILTER_ALIVE_AT) : NULL;
}
