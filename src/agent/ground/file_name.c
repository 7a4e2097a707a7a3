#include "agent/ground/file_name.h"

#include <sys/utsname.h>

#include "agent/arch/syscall.h"
#include "agent/ground/clock.h"
#include "agent/ground/libc.h"
#include "agent/ground/text.h"

char program_path[FILE_NAME_MAX];
bool program_by_loader;

static void executable_name(char *ret, size_t room)
{
	const char *name = program_path;
	struct text text;

	text_init(&text, ret, room);
	for (const char *c = program_path; *c; c++)
		if (*c == '/')
			name = c + 1;
	text_string(&text, *name ? name : "unknown");
}

void file_name_context(struct output_name *ret)
{
	struct utsname name = {0};
	struct text host;

	ret->pid = (uint64_t)sys_getpid();
	ret->seconds = clock_realtime_ns() / 1000000000u;
	executable_name(ret->executable, sizeof(ret->executable));
	sys_uname(&name);
	text_init(&host, ret->host, sizeof(ret->host));
	text_string(&host, name.nodename);
}

void file_name_make_parents(char *path)
{
	for (char *c = path + 1; *path && *c; c++) {
		if (*c != '/')
			continue;
		*c = '\0';
		sys_mkdir(path, 0777);
		*c = '/';
	}
}
