/* The recording's name: fills in the placeholders of OUTPUT and LOGFILE (settings.def). */
#ifndef MALLOW_AGENT_GROUND_FILE_NAME_H
#define MALLOW_AGENT_GROUND_FILE_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FILE_NAME_MAX 1024

struct file_name_context {
	uint64_t pid;
	uint64_t seconds;
	char executable[128];
	char host[65];
};

/* Gets the values of the placeholders from the kernel. */
void file_name_context(struct file_name_context *ret);

/*
 * Writes the pattern with its placeholders filled in to ret, which has room bytes. number: what %n
 * becomes. An unknown %x stays as it is. false: the name does not fit.
 */
bool file_name_expand(const struct file_name_context *context, const char *pattern, uint64_t number,
		      char *ret, size_t room);

bool file_name_has(const char *pattern, char placeholder);

/* Makes the missing directories of the path. The path is the same afterwards. */
void file_name_make_parents(char *path);

/* The first %x that is no placeholder, or '\0'. */
char file_name_unknown(const char *pattern);

#endif
