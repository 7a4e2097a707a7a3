#include "agent/life/environment.h"

#include <errno.h>

#include "agent/arch/syscall.h"
#include "agent/event/thread.h"
#include "agent/ground/libc.h"
#include "agent/ground/own_pages.h"
#include "agent/ground/text.h"
#include "agent/helper/registry.h"
#include "agent/helper/tool.h"
#include "base/compiler.h"
#include "base/preload.h"

#define CARRIED_MAX  48
#define CARRIED_SIZE 16384
#define PRELOAD      "LD_PRELOAD="
#define PARENT       "MALLOW_PARENT="
#define ANY_ORDER    "verify_asan_link_order=0" /* as `mallow run` begins ASAN_OPTIONS */

extern char **environ __attribute__((weak));

// Whole entries, "NAME=value". The program may change its own copies.
static char *carried[CARRIED_MAX];
static int carried_count;
static const char *library; // our own entry of LD_PRELOAD; NULL: we were loaded otherwise
static char *of_tool[CARRIED_MAX + 32 + 1];
static char memory[CARRIED_SIZE];
static struct text text;

static char *keep_bytes(const char *bytes, size_t size)
{
	char *start = text.start + text.length;

	if (text.length + size + 1 >= text.room)
		return NULL;
	text_bytes(&text, bytes, size);
	text.length++; // the NUL between entries
	return start;
}

static void find_library(void)
{
	const char *list = config_environment("LD_PRELOAD");

	while (list && *list) {
		size_t length = preload_entry_length(list);

		if (config_is_our_library(list, length)) {
			library = keep_bytes(list, length);
			return;
		}
		list += length + (list[length] != '\0');
	}
}

/* A program that gcc built with AddressSanitizer does not start with a library in front of libasan,
 * unless ASAN_OPTIONS allows it. */
static void keep_asan_options(void)
{
	static const char options[] = "ASAN_OPTIONS=" ANY_ORDER;
	const char *users = config_environment("ASAN_OPTIONS");

	if (users && !strncmp(users, ANY_ORDER, sizeof(ANY_ORDER) - 1))
		carried[carried_count++] = keep_bytes(options, sizeof(options) - 1);
}

static bool has_name(const char *entry, const char *name)
{
	size_t length = strlen(name);

	return !strncmp(entry, name, length) && entry[length] == '=';
}

/* Variables that the tool reads: where files are, how to write, where debuginfod is. */
static bool concerns_tool(const char *entry)
{
	static const char *const names[] = {
		"PATH",
		"HOME",
		"TMPDIR",
		"LANG",
		"LC_ALL",
		"LC_CTYPE",
		"TZ",
		"TERM",
		"COLUMNS",
		"NO_COLOR",
		"XDG_CACHE_HOME",
		"DEBUGINFOD_URLS",
		"DEBUGINFOD_CACHE_PATH",
		"DEBUGINFOD_TIMEOUT",
	};

	for (size_t i = 0; i < ARRAY_COUNT(names); i++)
		if (has_name(entry, names[i]))
			return true;
	return config_streams() && has_name(entry, "MALLOW_TOKEN");
}

/* The helper's environment: the carried entries, then the variables that concern the tool. */
static void keep_for_tool(void)
{
	size_t count = 0;

	for (int i = 0; i < carried_count; i++)
		of_tool[count++] = carried[i];
	for (char **entry = config_variables(); *entry && count + 1 < ARRAY_COUNT(of_tool);
	     entry++) {
		if (!concerns_tool(*entry))
			continue;
		of_tool[count] = keep_bytes(*entry, strlen(*entry));
		if (of_tool[count])
			count++;
	}
	of_tool[count] = NULL;
	tool_environment = of_tool;
}

void environment_init(void)
{
	static const char parent[] = PARENT "00000000000000000000000000000000";

	carried_count = 0;
	text_init(&text, memory, sizeof(memory));
	find_library();
	tool_find();
	// Without `mallow run` MALLOW_PARENT is not in the environment. It goes only into what exec
	// is given.
	if (!config.parent)
		carried[carried_count++] = keep_bytes(parent, sizeof(parent) - 1);
	keep_asan_options();
	for (char **entry = config_variables(); *entry && carried_count < CARRIED_MAX; entry++) {
		if (!config_is_ours(*entry))
			continue;
		carried[carried_count] = keep_bytes(*entry, strlen(*entry));
		if (carried[carried_count])
			carried_count++;
	}
	if (config_is_live() || config_streams())
		keep_for_tool();
}

/* The new LD_PRELOAD entry: our library among the program's entries, if it has any. */
static char *make_preload(char *place, size_t room, const char *users)
{
	size_t front = preload_front(users);
	struct text entry;

	text_init(&entry, place, room);
	text_string(&entry, PRELOAD);
	text_bytes(&entry, users, front);
	if (front)
		text_char(&entry, ':');
	text_string(&entry, library);
	users += front;
	if (*users && !front)
		text_char(&entry, ':');
	text_string(&entry, users);
	return entry.start;
}

static size_t name_length(const char *entry)
{
	size_t length = 0;

	while (entry[length] && entry[length] != '=')
		length++;
	return length + 1;
}

/* Position of the entry with the same name, or -1. */
static int find_entry(char *const envp[], const char *entry)
{
	size_t length = name_length(entry);

	for (int i = 0; envp && envp[i]; i++)
		if (!strncmp(envp[i], entry, length))
			return i;
	return -1;
}

/* The entry is MALLOW_PARENT of an earlier image: the program copied its environment then. */
static bool is_stale_parent(const char *entry, const char *ours)
{
	return !strncmp(ours, PARENT, sizeof(PARENT) - 1) && strcmp(entry, ours);
}

static bool is_complete(char *const envp[])
{
	int preload = find_entry(envp, PRELOAD);

	if (preload < 0 || !config_preloads_us(envp[preload] + sizeof(PRELOAD) - 1))
		return false;
	for (int i = 0; i < carried_count; i++) {
		int position = find_entry(envp, carried[i]);

		if (position < 0 || is_stale_parent(envp[position], carried[i]))
			return false;
	}
	return true;
}

/*
 * Updates MALLOW_PARENT among the carried entries, for a child whose environment is a copy that we
 * could not write to.
 */
static void refresh_parent(void)
{
	for (int i = 0; i < carried_count; i++)
		if (!strncmp(carried[i], PARENT, sizeof(PARENT) - 1))
			config_write_id(carried[i] + sizeof(PARENT) - 1, process_id);
}

static size_t count_entries(char *const envp[])
{
	size_t count = 0;

	while (envp && envp[count])
		count++;
	return count;
}

/*
 * A vfork child runs in its parent's memory and never comes back to release this. So the thread
 * keeps the memory for its next vfork child; it waits until this one has executed.
 */
static void *allocate_environment(size_t size)
{
	struct thread *thread = thread_self;

	if (!thread || !process_is_borrowed())
		return own_pages_allocate(size);
	if (thread->exec_size < size) {
		thread->exec_memory = own_pages_allocate(size);
		thread->exec_size = thread->exec_memory ? size : 0;
	}
	return thread->exec_memory;
}

bool environment_is_handed_on(void)
{
	return library != NULL;
}

bool environment_library_is_visible(void)
{
	int fd;

	// A name without a slash, or with a $ORIGIN in it, is the loader's to find.
	if (!library || *library != '/' || process_system_calls_forbidden())
		return true;
	for (const char *c = library; *c; c++)
		if (*c == '$')
			return true;
	fd = sys_open(library, O_RDONLY | O_CLOEXEC, 0);
	if (fd >= 0)
		sys_close(fd);
	return fd >= 0 || (fd != -ENOENT && fd != -ENOTDIR && fd != -EACCES && fd != -ELOOP);
}

/* The environment without this library. */
static char *const *carry_nothing(char *const envp[], size_t *size)
{
	size_t count = count_entries(envp);
	int preload = find_entry(envp, PRELOAD);
	size_t pointers = (count + 1) * sizeof(char *);
	size_t length = preload >= 0 ? strlen(envp[preload]) + 1 : 0;
	char **copy;
	char *list;

	if (preload < 0 || !config_preloads_us(envp[preload] + sizeof(PRELOAD) - 1))
		return envp;
	copy = allocate_environment(pointers + length);
	if (!copy)
		return envp;
	*size = pointers + length;
	list = (char *)copy + pointers;
	memcpy(list, envp[preload], length);
	memcpy(copy, envp, pointers);
	copy[preload] = list;
	if (config_strip_preload(list + sizeof(PRELOAD) - 1))
		memmove(copy + preload, copy + preload + 1,
			(count - (size_t)preload) * sizeof(*copy));
	return copy;
}

char *const *environment_carry(char *const envp[], size_t *size)
{
	size_t count = count_entries(envp);
	int preload = find_entry(envp, PRELOAD);
	const char *users = preload >= 0 ? envp[preload] + sizeof(PRELOAD) - 1 : "";
	size_t bytes;
	char **copy;

	*size = 0;
	if (!config.value[SETTING_FOLLOW] || !library)
		return envp;
	registry_pass_on();
	if (!environment_library_is_visible())
		return carry_nothing(envp, size);
	refresh_parent();
	if (is_complete(envp))
		return envp;
	bytes = (count + CARRIED_MAX + 2) * sizeof(*copy);
	*size = bytes + sizeof(PRELOAD) + strlen(library) + 1 + strlen(users) + 1;
	copy = allocate_environment(*size);
	if (!copy) {
		*size = 0;
		return envp;
	}
	for (size_t i = 0; i < count; i++)
		copy[i] = envp[i];
	if (preload < 0 || !config_preloads_us(envp[preload] + sizeof(PRELOAD) - 1)) {
		char *entry = make_preload((char *)copy + bytes, *size - bytes, users);

		copy[preload >= 0 ? (size_t)preload : count++] = entry;
	}
	for (int i = 0; i < carried_count; i++) {
		int position = find_entry(envp, carried[i]);

		if (position < 0)
			copy[count++] = carried[i];
		else if (is_stale_parent(envp[position], carried[i]))
			copy[position] = carried[i];
	}
	return copy;
}

void environment_release(char *const *envp, size_t size)
{
	if (size && !process_system_calls_forbidden() && !process_is_borrowed())
		own_pages_release((void *)envp, size);
}
