/*
 * The placeholders in names of files (OUTPUT and LOGFILE in settings.def), for the agent and the
 * tool: %p pid, %t UNIX seconds, %e executable, %h host, %n a number, %% a percent sign.
 */
#ifndef MALLOW_SETTINGS_OUTPUT_NAME_H
#define MALLOW_SETTINGS_OUTPUT_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the placeholders become. */
struct output_name {
	uint64_t pid;
	uint64_t seconds;
	char executable[128];
	char host[65];
};

/*
 * Writes the pattern with its placeholders filled in to ret, which has room bytes. number: what %n
 * becomes. An unknown %x stays as it is. false: the name does not fit.
 */
bool output_name_expand(const struct output_name *name, const char *pattern, uint64_t number,
			char *ret, size_t room);

bool output_name_has(const char *pattern, char placeholder);

/* The first %x that is no placeholder, or '\0'. */
char output_name_unknown(const char *pattern);

#endif
