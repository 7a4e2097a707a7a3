#include "agent/life/exec_sight.h"

#include <sys/prctl.h>

#include "agent/arch/syscall.h"
#include "agent/event/sink.h"
#include "agent/event/thread.h"
#include "agent/ground/clock.h"
#include "agent/ground/config.h"
#include "agent/ground/libc.h"
#include "agent/ground/lock.h"
#include "agent/ground/signal_bracket.h"
#include "agent/ground/state.h"
#include "agent/ground/text.h"
#include "agent/helper/registry.h"
#include "agent/life/environment.h"
#include "agent/record/fact_record.h"
#include "agent/unwind/arch.h"
#include "base/program_head.h"

#define PATH_MOST  1024
#define EXECUTABLE 1 /* access() */
#define NOSUID     2 /* ST_NOSUID */
#define OURS       (ARCH_ELF_CLASS | ELFDATA2LSB << 8 | (uint32_t)ARCH_ELF_MACHINE << 16)

/* Static, because stacks are small. Under the lock. A fork may leave it locked in the child. */
static struct {
	uint32_t lock;
	uint8_t head[PROGRAM_HEAD_SIZE];
	char path[PATH_MOST];
	char text[PATH_MOST + 64];
} look;

/* Whether the dynamic loader ignores paths in LD_PRELOAD (AT_SECURE). */
static bool gains_privilege(int fd, const struct kernel_stat *status)
{
	unsigned int uid = (unsigned int)syscall6(SYS_getuid, 0, 0, 0, 0, 0, 0);
	unsigned int gid = (unsigned int)syscall6(SYS_getgid, 0, 0, 0, 0, 0, 0);
	bool other_user = status->st_mode & S_ISUID && status->st_uid != uid;
	bool other_group =
		status->st_mode & S_ISGID && status->st_mode & S_IXGRP && status->st_gid != gid;
	struct kernel_statfs fs = {0};

	if (!other_user && !other_group &&
	    (!uid || syscall6(SYS_fgetxattr, fd, (long)"security.capability", 0, 0, 0, 0) <= 0))
		return false;
	return !(sys_fstatfs(fd, &fs) == 0 && fs.f_flags & NOSUID) &&
	       sys_prctl(PR_GET_NO_NEW_PRIVS, 0) != 1;
}

static bool is_loader(const char *path)
{
	const char *name = text_base_name(path);

	return !strncmp(name, "ld-", 3) || !strncmp(name, "ld.so", 5) || !strcmp(name, "libc.so");
}

/*
 * Why the program at look.path will not be recorded; NULL: it will, or that is not known. A script:
 * then look.path becomes its interpreter's, and *script true.
 */
static const char *obstacle(bool *script)
{
	struct kernel_stat status = {0};
	const char *interpreter, *why = NULL;
	size_t length;
	long size = 0;
	int fd = sys_open(look.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);

	*script = false;
	if (fd < 0)
		return NULL;
	if (sys_fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
		size = sys_pread(fd, look.head, sizeof(look.head), 0);
	if (size > 0 && program_head_is_elf(look.head, (size_t)size)) {
		if (gains_privilege(fd, &status))
			why = "it gains privileges, and the system then preloads nothing";
		else if (program_head_machine(look.head) != OURS)
			why = "it is built for another machine than libmallow.so";
		else if (program_head_is_static(look.head, (size_t)size) &&
			 !program_head_is_linked(look.head, (size_t)size) && !is_loader(look.path))
			why = "it is statically linked";
	} else if (size > 0) {
		interpreter = program_head_interpreter(look.head, (size_t)size, &length);
		*script = interpreter && length < PATH_MOST;
		if (*script) {
			memcpy(look.path, interpreter, length);
			look.path[length] = '\0';
		}
	}
	sys_close(fd);
	return why;
}

/* The path of what a descriptor leads to, if there is /proc. */
static void put_descriptor(struct text *text, int fd)
{
	text_string(text, "/proc/self/fd/");
	text_number(text, (uint64_t)fd);
}

/* Fills in look.path as the exec would find it. false: it would not, or it is too long. */
static bool find_program(int directory, const char *name, bool search)
{
	const char *list = search ? config_environment("PATH") : NULL;
	bool has_slash = false;
	struct text text;

	for (const char *c = name; *c; c++)
		has_slash |= *c == '/';
	text_init(&text, look.path, sizeof(look.path));
	if (!search || has_slash) {
		if (directory >= 0 && *name != '/')
			put_descriptor(&text, directory);
		if (directory >= 0 && *name != '/' && *name)
			text_char(&text, '/');
		text_string(&text, name);
		return !text.cut && sys_access(look.path, EXECUTABLE) == 0;
	}
	if (!list)
		list = "/bin:/usr/bin";
	for (;;) {
		size_t length = 0;

		while (list[length] && list[length] != ':')
			length++;
		text_init(&text, look.path, sizeof(look.path));
		text_bytes(&text, length ? list : ".", length ? length : 1);
		text_char(&text, '/');
		text_string(&text, name);
		if (!text.cut && sys_access(look.path, EXECUTABLE) == 0)
			return true;
		list += length;
		if (!*list++)
			return false;
	}
}

static void write_record(struct thread *thread, const struct fact_record *record)
{
	// In a vfork child a slot must not roll: its descriptors are not the program's.
	if (!process_is_borrowed())
		fact_record_write(thread, record);
	else if (sink_wants(record->kind) &&
		 (size_t)(thread->limit - thread->cursor) >= fact_record_room(record))
		fact_record_put(thread, record);
}

/* Tells `mallow run`, which writes it into a recording of the run, or `mallow live`. */
static void tell_unseen(const char *program, const char *why)
{
	struct text text;

	text_init(&text, look.text, sizeof(look.text));
	text_string(&text, why);
	text_char(&text, '\n');
	text_string(&text, program);
	registry_tell(-1, REGISTRY_STARTED, look.text, false);
}

static void record_unseen(const char *program, const char *why)
{
	struct fact_record record = {.kind = TRACE_RECORD_UNSEEN, .has_time = true};
	struct thread *thread = thread_self;
	struct signal_bracket bracket;
	struct text text;
	struct arch_mark outer;

	// A child that executes before it allocates has no recording, and begins none for this: it
	// might have no place for it. A live table says it, too, but an exec ends it without a
	// report.
	if (config_is_live() || ((!thread || !thread->cursor) && process_state() == PROCESS_NEW))
		tell_unseen(program, why);
	if (!thread || !thread->cursor || thread->busy)
		return;
	text_init(&text, look.text, sizeof(look.text));
	text_string(&text, program);
	text.length++; // the NUL
	text_string(&text, why);
	record.text = look.text;
	record.text_size = text.length + 2; // ends the reason, and no symbol
	look.text[text.length + 1] = '\0';
	record.ticks = clock_ticks();
	fact_record_add(&record, TRACE_UNSEEN_STARTED);
	fact_record_add(&record, 0);
	signal_bracket_begin(&bracket);
	outer = thread_begin_work(thread);
	write_record(thread, &record);
	thread_end_work(thread, outer);
	signal_bracket_end(&bracket);
}

/* The name of the file that a descriptor leads to, in look.path. */
static const char *name_of(int fd)
{
	struct text link;
	long length;

	text_init(&link, look.text, sizeof(look.text));
	put_descriptor(&link, fd);
	length = sys_readlink(look.text, look.path, sizeof(look.path) - 1);
	look.path[length > 0 ? length : 0] = '\0';
	return look.path;
}

void exec_sight_look(int directory, const char *path, bool search)
{
	const char *why = NULL;
	bool script = true;

	if (!path || !config.value[SETTING_FOLLOW] || process_system_calls_forbidden() ||
	    !environment_is_handed_on() || !lock_try(&look.lock))
		return;
	if (find_program(directory, path, search)) {
		if (!environment_library_is_visible())
			why = "libmallow.so cannot be opened where it runs";
		for (int i = 0; !why && script && i <= PROGRAM_SCRIPTS_DEPTH; i++)
			why = obstacle(&script);
		if (why)
			record_unseen(*path ? path : name_of(directory), why);
	}
	lock_release(&look.lock);
}
