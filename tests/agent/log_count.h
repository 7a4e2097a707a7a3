/* How a test build of the agent says at exit what it has counted. */
#ifndef LOG_COUNT_H
#define LOG_COUNT_H

#include "agent/arch/syscall.h"
#include "agent/ground/config.h"
#include "agent/ground/text.h"

/* A line of name and count at the end of the file that the variable of the environment names, if
 * any. */
static inline void log_count(const char *variable, const char *name, uint64_t count)
{
	const char *path = config_environment(variable);
	char line[64];
	struct text text;
	int fd = path ? sys_open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;

	if (fd < 0)
		return;
	text_init(&text, line, sizeof(line));
	text_string(&text, name);
	text_number(&text, count);
	text_char(&text, '\n');
	sys_write(fd, line, text.length);
	sys_close(fd);
}

#endif
