/*
 * The settings: one table and one parser for the agent (MALLOW_<NAME>) and the tool (--<name>), so
 * that both accept the same words. Freestanding.
 */
#ifndef MALLOW_SETTINGS_SETTINGS_H
#define MALLOW_SETTINGS_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

enum setting {
#define SETTING(NAME, name, kind, default_, value, commands, text) SETTING_##NAME,
#include "settings/settings.def"
#undef SETTING
	SETTING_COUNT,
};

enum setting_kind {
	SETTING_KIND_TEXT,
	SETTING_KIND_BOOLEAN,
	SETTING_KIND_NUMBER,
	SETTING_KIND_NATURAL,
	SETTING_KIND_SIZE,
	SETTING_KIND_TIME,
	SETTING_KIND_PERIOD,
	SETTING_KIND_SIGNAL,
	SETTING_KIND_CHOICE,
};

/* Which commands have the setting as an option. */
enum setting_commands {
	SETTING_COMMANDS_NONE = 0,
	SETTING_COMMANDS_RUN = 1,
	SETTING_COMMANDS_LIVE = 2,
	SETTING_COMMANDS_BOTH = 3,
};

struct setting_info {
	const char *variable; /* MALLOW_OUTPUT */
	const char *option;   /* output */
	enum setting_kind kind;
	enum setting_commands commands;
	const char *standard; /* the default; of a choice: all its words, the default first */
	const char *value;    /* as help shows it: FILE */
	const char *text;
};

const struct setting_info *setting_info(enum setting setting);

/*
 * Whether an entry of the environment, NAME=value, has the name of a variable of ours but is none.
 * Names that begin with MALLOW_TEST_ are left to tests.
 */
bool setting_is_mistyped(const char *entry);

/*
 * Parses a setting's word. *ret is, by the setting's kind:
 *
 *	boolean   0 or 1 (1/0/true/false/yes/no/on/off)
 *	number    1 to 4294967295; natural: 0 to 4294967295
 *	size      bytes (64K, 10M, 1G: powers of 1024)
 *	time      nanoseconds (500ms, 2s, 1h2m3s); period: a time, or a number of seconds
 *	signal    its number, 0: none
 *	choice    the position of the word in its list
 *
 * false: the word is not allowed, or the setting is a text, which has no value; *ret is unchanged.
 */
bool setting_parse(enum setting setting, const char *word, uint64_t *ret);

/* Parses a size, as above. */
bool setting_parse_size(const char *word, uint64_t *ret);

/* The default, as setting_parse() gives it. 0 for a text. */
uint64_t setting_default(enum setting setting);

/* Which words are allowed, for a message: "0 1 false true …". A static string. */
const char *setting_allowed(enum setting setting);

enum setting_mode {
	SETTING_MODE_RECORD,
	SETTING_MODE_LIVE,
};

enum setting_log {
	SETTING_LOG_OFF,
	SETTING_LOG_TRACE,
	SETTING_LOG_DEBUG,
	SETTING_LOG_INFO,
	SETTING_LOG_WARN,
	SETTING_LOG_ERROR,
};

enum setting_slots {
	SETTING_SLOTS_SHARED,
	SETTING_SLOTS_PRIVATE,
};

enum setting_backtrace {
	SETTING_BACKTRACE_FULL,
	SETTING_BACKTRACE_SHORT,
	SETTING_BACKTRACE_NONE,
};

enum setting_unwinder {
	SETTING_UNWINDER_FAST,
	SETTING_UNWINDER_PLAIN,
};

#endif
