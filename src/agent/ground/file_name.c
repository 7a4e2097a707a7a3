#include "agent/ground/file_name.h"

#include <sys/utsname.h>

#include "agent/arch/syscall.h"
#include "agent/ground/clock.h"
#include "agent/ground/libc.h"
#include "agent/ground/text.h"

static void executable_name(char *ret, size_t room)
{
	char path[512] = "";
	long length = sys_readlink("/proc/self/exe", path, sizeof(path));
	long start = 0;
	struct text text;

	text_init(&text, ret, room);
	for (long i = 0; i < length; i++)
		if (path[i] == '/')
			start = i + 1;
	if (length > start)
		text_bytes(&text, path + start, (size_t)(length - start));
	else
		text_string(&text, "unknown");
}

void file_name_context(struct file_name_context *ret)
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

bool file_name_expand(const struct file_name_context *context, const char *pattern, uint64_t number,
		      char *ret, size_t room)
{
	struct text text;

	text_init(&text, ret, room);
	for (const char *c = pattern; *c; c++) {
		if (*c != '%') {
			text_char(&text, *c);
			continue;
		}
		switch (c[1]) {
		case 'p':
			text_number(&text, context->pid);
			break;
		case 't':
			text_number(&text, context->seconds);
			break;
		case 'e':
			text_string(&text, context->executable);
			break;
		case 'h':
			text_string(&text, context->host);
			break;
		case 'n':
			text_number(&text, number);
			break;
		case '%':
			text_char(&text, '%');
			break;
		default:
			text_char(&text, '%');
			continue; // the next character is an ordinary one
		}
		c++;
	}
	return !text.cut;
}

/* Goes to the next placeholder. Returns the character after its %, '\0' at the end. */
static char next_placeholder(const char **position)
{
	const char *c = *position;

	while (*c && *c != '%')
		c++;
	if (!*c) {
		*position = c;
		return '\0';
	}
	*position = c[1] ? c + 2 : c + 1;
	return c[1] ? c[1] : '%';
}

bool file_name_has(const char *pattern, char placeholder)
{
	char found;

	while ((found = next_placeholder(&pattern)))
		if (found == placeholder)
			return true;
	return false;
}

char file_name_unknown(const char *pattern)
{
	char found;

	while ((found = next_placeholder(&pattern)))
		if (found != 'p' && found != 't' && found != 'e' && found != 'h' && found != 'n' &&
		    found != '%')
			return found;
	return '\0';
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
