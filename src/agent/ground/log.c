#include "agent/ground/log.h"

#include <errno.h>

#include "agent/arch/syscall.h"
#include "agent/ground/config.h"
#include "agent/ground/file_name.h"
#include "agent/ground/libc.h"
#include "agent/ground/signal_bracket.h"
#include "agent/ground/state.h"
#include "agent/ground/text.h"
#include "base/compiler.h"
#include "base/shown_text.h"

#define LOG_LINE 512

static struct kernel_stat stderr_at_start;
static bool stderr_known;
static char line[LOG_LINE];
static struct text text = {.start = line, .room = LOG_LINE};
static bool wanted, is_fault;

static const struct {
	int number;
	const char *text;
} errors[] = {
	{EACCES, "Permission denied"},
	{EPERM, "Operation not permitted"},
	{ENOENT, "No such file or directory"},
	{ENOTDIR, "Not a directory"},
	{EISDIR, "Is a directory"},
	{EROFS, "Read-only file system"},
	{ENOSPC, "No space left on device"},
	{EDQUOT, "Disk quota exceeded"},
	{EFBIG, "File too large"},
	{EIO, "Input/output error"},
	{EMFILE, "Too many open files"},
	{ENFILE, "Too many open files in system"},
	{ENOMEM, "Cannot allocate memory"},
	{ENAMETOOLONG, "File name too long"},
	{ELOOP, "Too many levels of symbolic links"},
	{EMEDIUMTYPE, "it exists, and is no regular file"},
};

void log_init(void)
{
	stderr_known = sys_fstat(2, &stderr_at_start) == 0;
}

bool log_wants(enum setting_log level)
{
	return config.value[SETTING_LOG] != SETTING_LOG_OFF &&
	       level >= (enum setting_log)config.value[SETTING_LOG];
}

void log_start(enum setting_log level)
{
	is_fault = level == SETTING_LOG_ERROR;
	wanted = is_fault || log_wants(level);
	text_init(&text, line, LOG_LINE - 1);
	text_string(&text, "mallow: ");
}

/* The strings are also names of files and of programs, which may hold anything. */
void log_string(const char *string)
{
	size_t left = strlen(string), size;
	char escaped[SHOWN_ESCAPED];
	const char *piece;

	while ((size = shown_piece(&string, &left, escaped, &piece)))
		text_bytes(&text, piece, size);
}

void log_number(uint64_t number)
{
	text_number(&text, number);
}

void log_error_number(int number)
{
	text_string(&text, ": ");
	for (size_t i = 0; i < ARRAY_COUNT(errors); i++) {
		if (errors[i].number == number)
			return text_string(&text, errors[i].text);
	}
	text_string(&text, "error ");
	text_number(&text, (uint64_t)number);
}

bool log_stderr_is_own(void)
{
	struct kernel_stat now = {0};

	return stderr_known && sys_fstat(2, &now) == 0 && now.st_dev == stderr_at_start.st_dev &&
	       now.st_ino == stderr_at_start.st_ino;
}

/* Opens LOGFILE, for each line: lines are rare, and so no descriptor is kept. */
static int open_file(void)
{
	static char path[FILE_NAME_MAX]; // static, because stacks are small; one line at a time
	static struct output_name context;
	// A pipe without a reader must not be waited for.
	const int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
	int fd;

	file_name_context(&context);
	output_name_expand(&context, config.text[SETTING_LOGFILE], 0, path, sizeof(path));
	fd = sys_open(path, flags, 0600);
	if (fd == -ENOENT) {
		file_name_make_parents(path);
		fd = sys_open(path, flags, 0600);
	}
	return fd;
}

static void write_line(void *argument)
{
	bool to_file = config.text[SETTING_LOGFILE] && config.text[SETTING_LOGFILE][0];
	int fd;

	line[text.length++] = '\n';
	fd = to_file ? open_file() : -1;
	if (fd >= 0) {
		sys_write(fd, line, text.length);
		sys_close(fd);
	}
	if (fd >= 0 && !is_fault)
		return;
	if (log_stderr_is_own())
		sys_write(2, line, text.length);
}

void log_end(void)
{
	if (wanted && !process_system_calls_forbidden())
		signal_bracket_run(write_line, NULL);
}

void log_line(enum setting_log level, const char *string)
{
	log_start(level);
	log_string(string);
	log_end();
}
