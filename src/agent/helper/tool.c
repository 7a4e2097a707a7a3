#include "agent/helper/tool.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stddef.h>
#include <sys/resource.h>

#include "agent/arch/clone_stack.h"
#include "agent/arch/syscall.h"
#include "agent/ground/config.h"
#include "agent/ground/libc.h"
#include "agent/ground/link_map.h"
#include "agent/ground/text.h"
#include "agent/helper/registry.h"

#define INPUT_FD   0
#define OUTPUT_FD  1
#define LAST_FD    2
#define FDS_LEAST  16 /* with less the tool's dynamic loader can open no libraries */
#define EXECUTABLE 1  /* access() */

char *const *tool_environment;

/*
 * The path of the tool where MALLOW_HELPER is not set: INSTALLED_TOOL_MARK, the path, and zeros to
 * the end. `make install` finds the mark in the library and writes the installed path after it
 * (tools/set_installed_tool.py), so what is built does not depend on where it goes. A relative path
 * begins at the library's folder: tool and library may be moved together. Until `make install` the
 * path is that of Meson's prefix. The compiler must not read it: that would be the path before
 * `make install`.
 */
#define INSTALLED_TOOL_MARK "mallow's tool: "
static const char installed_tool[1024] = INSTALLED_TOOL_MARK MALLOW_INSTALLED_TOOL;
static char beside_library[PATH_MAX]; // the same, absolute; empty: it is no relative path

static const char *installed_path(void)
{
	const char *path = installed_tool + sizeof(INSTALLED_TOOL_MARK) - 1;

	__asm__("" : "+r"(path));
	return path;
}

void tool_find(void)
{
	const char *library = link_map_own_path();
	char *path = beside_library;
	struct text text;
	char link[32];
	long length;
	int fd;

	if (*config.text[SETTING_HELPER] || *installed_path() == '/' || !library)
		return;
	fd = sys_open(library, O_PATH | O_CLOEXEC, 0);
	if (fd < 0)
		return;
	// Absolute, and without symbolic links: lib/libmallow.so is one.
	text_init(&text, link, sizeof(link));
	text_string(&text, "/proc/self/fd/");
	text_number(&text, (uint64_t)fd);
	length = sys_readlink(link, path, sizeof(beside_library) - sizeof(installed_tool));
	sys_close(fd);
	while (length > 0 && path[length - 1] != '/')
		length--;
	if (length > 0)
		memcpy(path + length, installed_path(), strlen(installed_path()) + 1);
}

const char *tool_path(void)
{
	const char *path = config.text[SETTING_HELPER];

	if (!*path)
		path = beside_library;
	return *path ? path : installed_path();
}

/* Whether the agent is asked for something by this signal. */
static bool asks_agent(int number)
{
	static const uint8_t settings[] = {SETTING_SIGNAL_TOGGLE, SETTING_SIGNAL_DUMP_SIZE,
					   SETTING_SIGNAL_DUMP_COUNT, SETTING_SIGNAL_BASELINE};

	for (size_t i = 0; i < ARRAY_COUNT(settings); i++)
		if (config.value[settings[i]] == (uint64_t)number)
			return true;
	return false;
}

/*
 * Resets the signal handlers, which are the program's code. This process has its own table. A
 * signal that asks the agent for a report may be sent to the whole group, or unit: it must not end
 * the tool in the middle of one.
 */
static void reset_handlers(void)
{
	// The kernel's struct sigaction, on any machine.
	unsigned long before[10] = {0}, wanted[10] = {0};
	const long size = sizeof(struct signal_set);

	for (int number = 1; number <= ARCH_SIGNALS; number++) {
		wanted[ARCH_ACTION_HANDLER] = (uintptr_t)(asks_agent(number) ? SIG_IGN : SIG_DFL);
		if (syscall_raw(SYS_rt_sigaction, number, 0, (long)before, size, 0, 0) == 0 &&
		    before[ARCH_ACTION_HANDLER] != (uintptr_t)SIG_IGN)
			syscall_raw(SYS_rt_sigaction, number, (long)wanted, 0, size, 0, 0);
	}
}

static void set_null(int fd)
{
	long null = syscall_raw(SYS_openat, AT_FDCWD, (long)"/dev/null", O_RDWR, 0, 0, 0);

	if (null >= 0 && null != fd)
		syscall_raw(SYS_dup3, null, fd, 0, 0, 0, 0);
}

static void set_output(int fd)
{
	if (fd == OUTPUT_FD)
		syscall_raw(CALL_FCNTL, fd, F_SETFD, 0, 0, 0, 0);
	else if (fd >= 0)
		syscall_raw(SYS_dup3, fd, OUTPUT_FD, 0, 0, 0, 0);
}

static void set_standard(const struct tool *tool)
{
	if (tool->alone) {
		set_null(INPUT_FD);
		set_null(OUTPUT_FD);
	} else {
		set_output(tool->output);
	}
	// It is no longer the file that it was at the start: then nothing of ours must go there.
	if (!tool->stderr_is_own)
		set_null(LAST_FD);
}

void tool_close_others(int first, int fd)
{
	int kept[2] = {fd, registry_is(registry_descriptor) ? registry_descriptor : fd};

	if (kept[0] > kept[1]) {
		kept[0] = kept[1];
		kept[1] = fd;
	}
	for (int i = 0; i < 2; i++) {
		if (kept[i] > first)
			syscall_raw(SYS_close_range, first, kept[i] - 1, 0, 0, 0, 0);
		if (kept[i] >= first)
			first = kept[i] + 1;
	}
	syscall_raw(SYS_close_range, first, ~0u, 0, 0, 0, 0);
}

/* Closes the program's descriptors from 3 on but this one. */
static void keep_only(int fd)
{
	tool_close_others(LAST_FD + 1, fd);
	syscall_raw(CALL_FCNTL, fd, F_SETFD, 0, 0, 0, 0);
	// node marks all its descriptors close-on-exec.
	syscall_raw(CALL_FCNTL, LAST_FD, F_SETFD, 0, 0, 0, 0);
}

/*
 * Raises the limits that the program has set as far as is possible without privilege: they are not
 * meant for the tool. false: there are so few descriptors that the tool's dynamic loader would
 * complain in the program's name.
 */
static bool lift_limits(void)
{
	static const int kinds[] = {RLIMIT_STACK, RLIMIT_NOFILE};
	struct {
		uint64_t now, most;
	} limit = {.now = FDS_LEAST};

	for (size_t i = 0; i < ARRAY_COUNT(kinds); i++) {
		if (syscall_raw(SYS_prlimit64, 0, kinds[i], 0, (long)&limit, 0, 0) < 0)
			continue;
		limit.now = limit.most;
		syscall_raw(SYS_prlimit64, 0, kinds[i], (long)&limit, 0, 0, 0);
	}
	return limit.now >= FDS_LEAST;
}

void tool_execute(struct tool *tool)
{
	static const uint64_t none;
	long result;

	if (!lift_limits()) {
		tool->error = EMFILE;
		syscall_raw(SYS_exit_group, TOOL_NO_EXEC, 0, 0, 0, 0, 0);
	}
	if (tool->alone)
		syscall_raw(SYS_setsid, 0, 0, 0, 0, 0, 0);
	reset_handlers();
	set_standard(tool);
	keep_only(tool->fd);
	syscall_raw(SYS_rt_sigprocmask, SIG_SETMASK, (long)&none, 0, 8, 0, 0);
	result = syscall_raw(SYS_execve, (long)tool->arguments[0], (long)tool->arguments,
			     (long)tool_environment, 0, 0, 0);
	tool->error = (int)-result;
	for (;;)
		syscall_raw(SYS_exit_group, 127, 0, 0, 0, 0, 0);
}

long tool_start_keeper(const struct tool *tool, void *end, void (*function)(void *argument),
		       void *argument)
{
	if (sys_access(tool->arguments[0], EXECUTABLE))
		return -TOOL_MISSING;
	return clone_stack(CLONE_VM, end, function, argument);
}

/* Below our frame, and those of the two functions that we are in the middle of. */
#define BELOW_OURS 1024

static void execute(void *tool)
{
	tool_execute(tool);
}

long tool_vfork(struct tool *tool)
{
	char *end = (char *)__builtin_frame_address(0) - BELOW_OURS;

	return clone_stack(CLONE_VM | CLONE_VFORK | SIGCHLD, end - (uintptr_t)end % 16, execute,
			   tool);
}
