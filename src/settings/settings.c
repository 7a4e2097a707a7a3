#include "settings/settings.h"

#include <signal.h>
#include <stddef.h>

static const struct setting_info infos[SETTING_COUNT] = {
#define SETTING(NAME, name, kind_, default_, value_, commands_, text_)                             \
	[SETTING_##NAME] = {                                                                       \
		.variable = "MALLOW_" #NAME,                                                       \
		.option = name,                                                                    \
		.kind = SETTING_KIND_##kind_,                                                      \
		.standard = default_,                                                              \
		.value = value_,                                                                   \
		.commands = SETTING_COMMANDS_##commands_,                                          \
		.text = text_,                                                                     \
	},
#include "base/compiler.h"
#include "settings/settings.def"
#undef SETTING
};

static const char booleans[] = "0 1 false true no yes off on";

const struct setting_info *setting_info(enum setting setting)
{
	return &infos[setting];
}

/*
 * Whether the first word of a list is this word. Returns the rest of the list; NULL: another word.
 */
static const char *same_word(const char *list, const char *word)
{
	while (*word && *word != ' ' && *list == *word) {
		list++;
		word++;
	}
	return *word == '\0' && (*list == ' ' || *list == '\0') ? list : NULL;
}

static bool find_word(const char *list, const char *word, uint64_t *ret)
{
	for (uint64_t i = 0; *list; i++) {
		if (same_word(list, word)) {
			*ret = i;
			return true;
		}
		while (*list && *list != ' ')
			list++;
		while (*list == ' ')
			list++;
	}
	return false;
}

/*
 * Reads the digits at the start of a word, at least one. Returns what follows them; NULL: no
 * number.
 */
static const char *take_digits(const char *word, uint64_t *ret)
{
	const char *c = word;
	uint64_t value = 0;

	for (; *c >= '0' && *c <= '9'; c++)
		if (__builtin_mul_overflow(value, 10u, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*c - '0'), &value))
			return NULL;
	*ret = value;
	return c > word ? c : NULL;
}

static bool parse_number(const char *word, uint64_t least, uint64_t *ret)
{
	uint64_t value;
	const char *rest = take_digits(word, &value);

	if (!rest || *rest || value < least || value > UINT32_MAX)
		return false;
	*ret = value;
	return true;
}

/* The bytes of a unit (K, M, …). 0: no such unit. */
static uint64_t unit_of_size(char c)
{
	switch (c) {
	case '\0':
		return 1;
	case 'k':
	case 'K':
		return UINT64_C(1) << 10;
	case 'm':
	case 'M':
		return UINT64_C(1) << 20;
	case 'g':
	case 'G':
		return UINT64_C(1) << 30;
	default:
		return 0;
	}
}

bool setting_parse_size(const char *word, uint64_t *ret)
{
	uint64_t value, unit;
	const char *rest = take_digits(word, &value);

	if (!rest || (*rest && rest[1]))
		return false;
	unit = unit_of_size(*rest);
	if (!unit || __builtin_mul_overflow(value, unit, &value))
		return false;
	*ret = value;
	return true;
}

static const struct {
	const char *name;
	uint64_t ns;
} times[] = {
	{"h", UINT64_C(3600000000000)},
	{"m", UINT64_C(60000000000)},
	{"s", UINT64_C(1000000000)},
	{"ms", UINT64_C(1000000)},
};
#define TIMES (ARRAY_COUNT(times))

/*
 * Finds the unit of time at c, among the units from `first` on. *size: how many letters it has.
 * TIMES: none.
 */
static size_t find_time(const char *c, size_t first, size_t *size)
{
	for (size_t i = first; i < TIMES; i++) {
		const char *name = times[i].name;

		for (*size = 0; name[*size] && c[*size] == name[*size];)
			(*size)++;
		if (!name[*size] && (!c[*size] || (c[*size] >= '0' && c[*size] <= '9')))
			return i;
	}
	return TIMES;
}

/* Parses numbers with units, larger units first. 0 needs no unit. */
static bool parse_time(const char *word, uint64_t *ret)
{
	uint64_t sum = 0, value;
	size_t size;

	if (word[0] == '0' && !word[1]) {
		*ret = 0;
		return true;
	}
	for (size_t unit = 0; *word || !unit; unit++, word += size) {
		word = take_digits(word, &value);
		if (!word)
			return false;
		unit = find_time(word, unit, &size);
		if (unit == TIMES || __builtin_mul_overflow(value, times[unit].ns, &value) ||
		    __builtin_add_overflow(sum, value, &sum))
			return false;
	}
	*ret = sum;
	return true;
}

/* A time, or a number of seconds. */
static bool parse_period(const char *word, uint64_t *ret)
{
	uint64_t value;
	const char *rest = take_digits(word, &value);

	if (!rest || *rest)
		return parse_time(word, ret);
	if (__builtin_mul_overflow(value, UINT64_C(1000000000), &value))
		return false;
	*ret = value;
	return true;
}

#define RTMIN 34 /* glibc's: it keeps 32 and 33 for itself */
#define RTMAX 64

static const struct {
	const char *name;
	uint64_t number;
} signals[] = {
	{"HUP", SIGHUP},     {"INT", SIGINT},   {"QUIT", SIGQUIT},     {"TRAP", SIGTRAP},
	{"ABRT", SIGABRT},   {"USR1", SIGUSR1}, {"USR2", SIGUSR2},     {"PIPE", SIGPIPE},
	{"ALRM", SIGALRM},   {"TERM", SIGTERM}, {"CHLD", SIGCHLD},     {"CONT", SIGCONT},
	{"TSTP", SIGTSTP},   {"TTIN", SIGTTIN}, {"TTOU", SIGTTOU},     {"URG", SIGURG},
	{"XCPU", SIGXCPU},   {"XFSZ", SIGXFSZ}, {"VTALRM", SIGVTALRM}, {"PROF", SIGPROF},
	{"WINCH", SIGWINCH}, {"IO", SIGIO},     {"POLL", SIGPOLL},     {"PWR", SIGPWR},
	{"SYS", SIGSYS},
};

/* Returns what follows the prefix. NULL: the word does not begin with it. */
static const char *skip_prefix(const char *word, const char *prefix)
{
	while (*prefix && *word == *prefix) {
		word++;
		prefix++;
	}
	return *prefix ? NULL : word;
}

/* Variables of ours that are no settings: the tool's, and what it tells the agent. */
static const char *const others[] = {
	"MALLOW_COREDUMPS", "MALLOW_DIRECTORY", "MALLOW_LIBRARY", "MALLOW_PARENT",
	"MALLOW_REGISTRY",  "MALLOW_STARTER",   "MALLOW_TOKEN",
};

static bool has_name(const char *entry, const char *name)
{
	const char *rest = skip_prefix(entry, name);

	return rest && *rest == '=';
}

bool setting_is_mistyped(const char *entry)
{
	bool known = !skip_prefix(entry, "MALLOW_") || skip_prefix(entry, "MALLOW_TEST_");

	for (int i = 0; !known && i < SETTING_COUNT; i++)
		known = has_name(entry, infos[i].variable);
	for (size_t i = 0; !known && i < ARRAY_COUNT(others); i++)
		known = has_name(entry, others[i]);
	return !known;
}

/* Parses RTMIN, RTMIN+1, RTMAX-1. */
static bool parse_real_time(const char *word, uint64_t *ret)
{
	const char *low = skip_prefix(word, "RTMIN"), *high = skip_prefix(word, "RTMAX");
	const char *rest = low ? low : high;
	uint64_t distance = 0;

	if (!rest)
		return false;
	if (*rest) {
		if (*rest != (low ? '+' : '-'))
			return false;
		rest = take_digits(rest + 1, &distance);
		if (!rest || *rest || distance > RTMAX - RTMIN)
			return false;
	}
	*ret = low ? RTMIN + distance : RTMAX - distance;
	return true;
}

static bool can_be_caught(uint64_t number)
{
	switch (number) {
	case SIGKILL:
	case SIGSTOP:
	case SIGSEGV: // sent for faults: a handler must not return
	case SIGBUS:
	case SIGFPE:
	case SIGILL:
	case 0:
	case 32:
	case 33:
		return false;
	default:
		return number <= RTMAX;
	}
}

static bool parse_signal(const char *word, uint64_t *ret)
{
	const char *name = skip_prefix(word, "SIG"), *rest;
	uint64_t number;

	if (same_word("none", word)) {
		*ret = 0;
		return true;
	}
	rest = take_digits(word, &number);
	if (rest) {
		if (*rest || !can_be_caught(number))
			return false;
		*ret = number;
		return true;
	}
	if (!name)
		name = word;
	for (size_t i = 0; i < ARRAY_COUNT(signals); i++) {
		rest = skip_prefix(name, signals[i].name);
		if (rest && !*rest) {
			*ret = signals[i].number;
			return true;
		}
	}
	return parse_real_time(name, ret);
}

bool setting_parse(enum setting setting, const char *word, uint64_t *ret)
{
	uint64_t position;

	switch (infos[setting].kind) {
	case SETTING_KIND_TEXT:
		return false;
	case SETTING_KIND_BOOLEAN:
		if (!find_word(booleans, word, &position))
			return false;
		*ret = position & 1;
		return true;
	case SETTING_KIND_NUMBER:
		return parse_number(word, 1, ret);
	case SETTING_KIND_NATURAL:
		return parse_number(word, 0, ret);
	case SETTING_KIND_SIZE:
		return setting_parse_size(word, ret);
	case SETTING_KIND_TIME:
		return parse_time(word, ret);
	case SETTING_KIND_PERIOD:
		return parse_period(word, ret);
	case SETTING_KIND_SIGNAL:
		return parse_signal(word, ret);
	case SETTING_KIND_CHOICE:
		return find_word(infos[setting].standard, word, ret);
	}
	return false;
}

uint64_t setting_default(enum setting setting)
{
	uint64_t value = 0;

	// The default of a choice is its first word, so its value is 0.
	if (infos[setting].kind != SETTING_KIND_CHOICE)
		setting_parse(setting, infos[setting].standard, &value);
	return value;
}

const char *setting_allowed(enum setting setting)
{
	switch (infos[setting].kind) {
	case SETTING_KIND_BOOLEAN:
		return booleans;
	case SETTING_KIND_NUMBER:
		return "a number from 1 to 4294967295";
	case SETTING_KIND_NATURAL:
		return "a number from 0 to 4294967295";
	case SETTING_KIND_SIZE:
		return "a size such as 4096, 64K, 10M or 1G";
	case SETTING_KIND_SIGNAL:
		return "none, or a signal that can be caught, such as USR1, SIGUSR2, RTMIN+1 or 10";
	case SETTING_KIND_TIME:
		return "a time such as 500ms, 2s or 1h2m3s, or 0";
	case SETTING_KIND_PERIOD:
		return "seconds, or a time such as 500ms, 2s or 1h2m3s";
	case SETTING_KIND_CHOICE:
		return infos[setting].standard;
	case SETTING_KIND_TEXT:
		break;
	}
	return "any text";
}
