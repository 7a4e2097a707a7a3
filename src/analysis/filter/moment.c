#include "analysis/filter/moment.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "base/compiler.h"
#include "base/wide.h"

#define SECOND UINT64_C(1000000000)

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static const char *skip_blanks(const char *text)
{
	while (is_blank(*text))
		text++;
	return text;
}

/*
 * Reads the digits at the start of text, at least one. Returns what follows them; NULL: no number,
 * or too large.
 */
static const char *take_digits(const char *text, uint64_t *ret)
{
	const char *c = text;
	uint64_t value = 0;

	for (; is_digit(*c); c++)
		if (__builtin_mul_overflow(value, 10u, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*c - '0'), &value))
			return NULL;
	*ret = value;
	return c > text ? c : NULL;
}

static const struct {
	const char *name;
	uint64_t ns;
} units[] = {
	{"h", 3600 * SECOND}, {"m", 60 * SECOND}, {"s", SECOND},
	{"ms", 1000000},      {"us", 1000},       {"ns", 1},
};

/* The unit at text, 0: none; at the end of the text it is the second. *ret: what follows. */
static uint64_t take_unit(const char *text, const char **ret)
{
	size_t length = 0;

	while ((text[length] | 0x20) >= 'a' && (text[length] | 0x20) <= 'z')
		length++;
	*ret = text + length;
	if (!length)
		return *text ? 0 : SECOND;
	for (size_t i = 0; i < ARRAY_COUNT(units); i++)
		if (strlen(units[i].name) == length &&
		    strncasecmp(units[i].name, text, length) == 0)
			return units[i].ns;
	return 0;
}

bool interval_parse(const char *text, uint64_t *ret)
{
	uint64_t sum = 0;

	text = skip_blanks(text);
	do {
		uint64_t value, unit;

		text = take_digits(text, &value);
		if (!text)
			return false;
		unit = take_unit(skip_blanks(text), &text);
		if (!unit || __builtin_mul_overflow(value, unit, &value) ||
		    __builtin_add_overflow(sum, value, &sum))
			return false;
		text = skip_blanks(text);
	} while (*text);
	*ret = sum;
	return sum != UINT64_MAX; // UINT64_MAX stands for never
}

bool percent_parse(const char *text, uint64_t *ret)
{
	uint64_t value;

	text = take_digits(skip_blanks(text), &value);
	if (!text || __builtin_mul_overflow(value, PERCENT, &value))
		return false;
	if (*text == '.') {
		uint64_t place = PERCENT;

		if (!is_digit(*++text))
			return false;
		for (; is_digit(*text); text++) {
			place /= 10;
			if (!place ||
			    __builtin_add_overflow(value, place * (uint64_t)(*text - '0'), &value))
				return false;
		}
	}
	text = skip_blanks(text);
	if (*text != '%' || *skip_blanks(text + 1))
		return false;
	*ret = value;
	return true;
}

uint64_t percent_of(uint64_t percent, uint64_t whole)
{
	uint64_t part;

	return wide_scale(percent, whole, 100 * PERCENT, &part) ? part : UINT64_MAX;
}

const char moment_allowed[] =
	"UNIX seconds, a time since the start such as 500ms or 1m30s, a percentage of the run "
	"such as 12.5%, peak, end, on#2 or off#2 where recording went on and off for the second "
	"time, or the name of a mark";

/* Parses "on#2": the number behind the word. */
static bool parse_switch(const char *text, const char *word, uint64_t *ret)
{
	size_t length = strlen(word);
	const char *rest =
		strncmp(text, word, length) == 0 ? take_digits(text + length, ret) : NULL;

	return rest && !*skip_blanks(rest) && *ret > 0;
}

bool moment_parse(const char *text, struct moment *ret)
{
	struct moment moment = {.kind = MOMENT_UNIX};
	const char *rest;

	text = skip_blanks(text);
	if (!*text)
		return false;
	rest = take_digits(text, &moment.number);
	if (rest && !*skip_blanks(rest)) {
		moment.kind = MOMENT_UNIX;
	} else if (percent_parse(text, &moment.number)) {
		moment.kind = MOMENT_PERCENT;
	} else if (interval_parse(text, &moment.number)) {
		moment.kind = MOMENT_RUNNING;
	} else if (strcmp(text, "peak") == 0) {
		moment.kind = MOMENT_PEAK;
	} else if (strcmp(text, "end") == 0) {
		moment.kind = MOMENT_END;
	} else if (parse_switch(text, "on#", &moment.number)) {
		moment.kind = MOMENT_ON;
	} else if (parse_switch(text, "off#", &moment.number)) {
		moment.kind = MOMENT_OFF;
	} else if (!is_digit(*text)) {
		moment.kind = MOMENT_MARK;
		moment.name = text;
	} else {
		return false;
	}
	*ret = moment;
	return true;
}

static struct err *find_mark(const struct recording *recording, const char *name, uint64_t *ret)
{
	uint32_t count;
	const struct recorded_mark *marks = recording_marks(recording, &count);

	for (uint32_t i = 0; i < count; i++) {
		if (strcmp(marks[i].name, name) == 0) {
			*ret = marks[i].time_ns;
			return NULL;
		}
	}
	if (!count)
		return err_create("'%s': the recording has no marks", name);
	return err_create("'%s': the recording has no such mark; its first one is '%s'", name,
			  marks[0].name);
}

/* *ret: when recording began or stopped. If it was on until the end, it stopped then. */
static struct err *find_switch(const struct recording *recording, const struct moment *moment,
			       uint64_t *ret)
{
	uint32_t count;
	const struct recorded_switch *switches = recording_switches(recording, &count);
	bool wanted = moment->kind == MOMENT_ON, on = true;
	uint64_t periods = 1, found = wanted ? 0 : recording_facts(recording)->duration_ns;

	for (uint32_t i = 0; i < count && (periods < moment->number || on != wanted); i++) {
		if (switches[i].on == on)
			continue; // the switch between them is lost
		on = !on;
		periods += on;
		if (on == wanted)
			found = switches[i].time_ns;
	}
	if (periods < moment->number)
		return err_create("'%s#%" PRIu64 "': the recording was on %" PRIu64 " time%s",
				  wanted ? "on" : "off", moment->number, periods,
				  periods == 1 ? "" : "s");
	*ret = on == wanted ? found : recording_facts(recording)->duration_ns;
	return NULL;
}

/* a - b, as far as there are such numbers. */
static int64_t saturated_difference(uint64_t a, uint64_t b)
{
	if (a >= b)
		return a - b > INT64_MAX ? INT64_MAX : (int64_t)(a - b);
	return b - a > INT64_MAX ? INT64_MIN : -(int64_t)(b - a);
}

/*
 * Numbers that would be the year 5138 or later are milliseconds: what clients of bytehound send
 * since its version 0.8.
 */
#define FIRST_MILLISECOND UINT64_C(100000000000)

static int64_t since_start(uint64_t number, bool last, uint64_t start_ns)
{
	uint64_t unit = number < FIRST_MILLISECOND ? SECOND : SECOND / 1000, ns;

	if (last && number == UINT64_MAX)
		return INT64_MAX;
	// Of the last nanosecond of the unit, if it is asked for.
	return wide_scale(number + last, unit, 1, &ns) ? saturated_difference(ns - last, start_ns)
						       : INT64_MAX;
}

struct err *moment_resolve(const struct moment *moment, const struct recording *recording,
			   bool last, int64_t *ret)
{
	const struct recording_facts *facts = recording_facts(recording);
	uint64_t ns = moment->number;
	struct err *err = NULL;

	switch (moment->kind) {
	case MOMENT_UNIX:
		*ret = since_start(ns, last, facts->start_realtime_ns);
		return NULL;
	case MOMENT_RUNNING:
		break;
	case MOMENT_PERCENT:
		ns = percent_of(moment->number, facts->duration_ns);
		break;
	case MOMENT_PEAK:
		ns = recording_summary(recording)->peak_time_ns;
		break;
	case MOMENT_END:
		ns = facts->duration_ns;
		break;
	case MOMENT_ON:
	case MOMENT_OFF:
		err = find_switch(recording, moment, &ns);
		break;
	case MOMENT_MARK:
		err = find_mark(recording, moment->name, &ns);
		break;
	}
	if (!err)
		*ret = saturated_difference(ns, 0);
	return err;
}
