#include "agent/process.h"

#include <elf.h>
#include <sys/utsname.h>

#include "agent/clock.h"
#include "agent/config.h"
#include "agent/environment.h"
#include "agent/event_clock.h"
#include "agent/libc.h"
#include "agent/log.h"
#include "agent/own_code.h"
#include "agent/pool.h"
#include "agent/real.h"
#include "agent/record.h"
#include "agent/sample.h"
#include "agent/slow.h"
#include "agent/syscall.h"
#include "agent/text.h"
#include "agent/thread.h"

#define WINDOW_SIZE  (32u << 20)  /* of recording after a seccomp filter */
#define RESERVE_SIZE (256u << 20) /* address space for tables then; touched when used */
#define FACT_MAX     32000
#define FLUSH_SIZE   (1u << 20) /* of a slot that deep stacks have made large */

struct process *process;
bool process_forbidden;
uint8_t process_id[16];

// Kept across fork: whether the settings are read and the tables of the unwinder made.
static bool started_before;

// Kernels before 4.14, and what only looks like Linux, do not know it.
static bool wiped_at_fork;

static bool make_process(void)
{
	struct process *fresh;
	struct process *none = NULL;

	if (process)
		return true;
	fresh = pool_allocate(sizeof(*fresh));
	if (!fresh)
		return false;
	// Zero in every child that has a copy of this memory; a vfork child shares it.
	wiped_at_fork = sys_madvise(fresh, sizeof(*fresh), MADV_WIPEONFORK) == 0;
	__atomic_compare_exchange_n(&process, &none, fresh, false, __ATOMIC_RELEASE,
				    __ATOMIC_RELAXED);
	return true;
}

/* Field 22 of /proc/self/stat; the name in field 2 may hold blanks and parentheses. */
static uint64_t start_time(void)
{
	char text[512];
	int fd = sys_open("/proc/self/stat", O_RDONLY | O_CLOEXEC, 0);
	long size = fd < 0 ? 0 : sys_read(fd, text, sizeof(text) - 1);
	const char *c;
	int field = 2;

	if (fd >= 0)
		sys_close(fd);
	if (size <= 0)
		return 0;
	text[size] = '\0';
	for (c = text + size; c > text && *c != ')'; c--)
		;
	for (; *c && field < 22; c++)
		field += *c == ' ';
	return text_parse(c, NULL);
}

static void make_id(uint8_t id[16])
{
	if (sys_getrandom(id, 16) == 16)
		return;
	// Without the system call (old kernels, filters): different enough to tell files apart.
	uint64_t parts[2] = {clock_realtime_ns() ^ __builtin_ia32_rdtsc() << 32,
			     (uint64_t)sys_getpid() << 32 ^ (uint64_t)id};
	memcpy(id, parts, 16);
}

static void fill_header(struct trace_header *header, bool forked, const uint8_t parent[16])
{
	header->version_major = TRACE_VERSION_MAJOR;
	header->version_minor = TRACE_VERSION_MINOR;
	header->header_size = TRACE_PAGE;
	memcpy(header->id, process_id, 16);
	memcpy(header->parent_id, parent, 16);
	header->pid = (uint32_t)process->pid;
	header->parent_pid = (uint32_t)sys_getppid();
	header->start_time = start_time();
	header->machine = EM_X86_64;
	header->pointer_size = sizeof(void *);
	header->clock = clock_use_tsc ? TRACE_CLOCK_TSC : TRACE_CLOCK_MONOTONIC_NS;
	header->allocator = real.allocator_is_glibc  ? TRACE_ALLOCATOR_GLIBC
			    : real.allocator_is_musl ? TRACE_ALLOCATOR_MUSL
						     : TRACE_ALLOCATOR_OTHER;
	header->flags = (forked ? TRACE_BEGUN_BY_FORK : 0) |
			(process->file.header_private ? TRACE_PRIVATE_SLOTS : 0);
	header->start_ticks = clock_ticks();
	header->start_monotonic_ns = clock_monotonic_ns();
	header->start_realtime_ns = clock_realtime_ns();
	// Last: a file without its magic is not yet a recording.
	__atomic_store_n(&header->magic, TRACE_MAGIC, __ATOMIC_RELEASE);
}

/* `mallow run` learns what was recorded from this list: one path a line. */
static void register_recording(void)
{
	struct file *file = &process->file;
	size_t length = strlen(file->path);
	int fd;

	if (!config.registry)
		return;
	fd = sys_open(config.registry, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0);
	if (fd < 0)
		return;
	// The line in one write, so that images that begin at once do not mix theirs.
	file->path[length] = '\n';
	sys_write(fd, file->path, length + 1);
	file->path[length] = '\0';
	sys_close(fd);
}

static bool create_file(bool later_image)
{
	bool shared = config.value[SETTING_SLOTS] == SETTING_SLOTS_SHARED;
	int error = file_create(&process->file, later_image);

	if (error >= 0) {
		error = file_map_header(&process->file, shared);
		if (error >= 0)
			return true;
		file_discard(&process->file);
	}
	log_start(SETTING_LOG_ERROR);
	log_string("cannot write '");
	log_string(process->file.path);
	log_string("'");
	log_error_number(-error);
	log_string("; the program runs unrecorded");
	log_end();
	return false;
}

static void warn_unknown_placeholder(void)
{
	char text[] = "%x";

	text[1] = file_name_unknown(config.text[SETTING_OUTPUT]);
	if (!text[1])
		return;
	log_start(SETTING_LOG_ERROR);
	log_string("MALLOW_OUTPUT: ");
	log_string(text);
	log_string(" is no placeholder and stays as it is");
	log_end();
}

/* What happens once, in the first image of an exec. false: too early. */
static bool start_first(void)
{
	const struct unwind_host host = {
		.allocate = pool_allocate,
		.dl_find_object = real.dl_find_object,
		.hooks_start = (uint64_t)__ehdr_start,
		.hooks_end = (uint64_t)etext,
	};

	log_init();
	if (!config_read())
		return false;
	clock_init();
	event_clock_init();
	unwind_init(&host);
	warn_unknown_placeholder();
	environment_init();
	if (!config.value[SETTING_FOLLOW])
		config_hide_preload();
	started_before = true;
	return true;
}

static enum process_state start(bool forked)
{
	static const uint8_t none[16];
	uint8_t parent[16];

	if (forked && !config.value[SETTING_FOLLOW])
		return PROCESS_OFF;
	if (!wiped_at_fork) {
		// A forked child would write where nothing is mapped.
		log_line(SETTING_LOG_ERROR, "the kernel cannot wipe memory at fork "
					    "(MADV_WIPEONFORK); the program runs unrecorded");
		return PROCESS_OFF;
	}
	if (forked)
		unwind_forget_ids();
	process->pid = sys_getpid();
	memcpy(parent, forked ? process_id : config.parent_id, 16);
	make_id(process_id);
	if (!create_file(memcmp(parent, none, 16) != 0))
		return PROCESS_OFF;
	fill_header(process->file.header, forked, parent);
	file_write_header(&process->file);
	config_publish_id(process_id);
	register_recording();
	log_start(SETTING_LOG_INFO);
	log_string("recording to ");
	log_string(process->file.path);
	log_end();
	return PROCESS_RECORDING;
}

bool process_start(void)
{
	uint32_t state = PROCESS_NEW;

	// The child of a process under a filter is under it, too, and has no window of its own.
	if (process_system_calls_forbidden() && process_state() == PROCESS_NEW)
		return false;
	if (!make_process())
		return false;
	if (!__atomic_compare_exchange_n(&process->state, &state, PROCESS_STARTING, false,
					 __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE))
		return state == PROCESS_RECORDING;
	real_resolve();
	if (!started_before && !start_first())
		state = PROCESS_NEW; // before the C library is ready: the next event tries again
	else
		state = start(process_id[0] || process_id[1] || process_id[2] || process_id[3]);
	__atomic_store_n(&process->state, state, __ATOMIC_RELEASE);
	return state == PROCESS_RECORDING;
}

static void write_fact(struct thread *thread, enum trace_process_field field, const void *text,
		       size_t size)
{
	struct record record = {.kind = TRACE_RECORD_PROCESS, .text = text, .text_size = size};

	record_add(&record, field);
	record_write(thread, &record);
}

static void write_file_fact(struct thread *thread, enum trace_process_field field, const char *path)
{
	static char text[FACT_MAX]; // one thread of one image at a time
	int fd = sys_open(path, O_RDONLY | O_CLOEXEC, 0);
	long size = fd < 0 ? -1 : sys_read(fd, text, sizeof(text));

	if (fd >= 0)
		sys_close(fd);
	if (size > 0)
		write_fact(thread, field, text, (size_t)size);
}

void process_write_facts(struct thread *thread)
{
	static char path[FILE_NAME_MAX];
	static struct utsname name;
	long size = sys_readlink("/proc/self/exe", path, sizeof(path));

	if (size > 0)
		write_fact(thread, TRACE_PROCESS_EXECUTABLE, path, (size_t)size);
	write_file_fact(thread, TRACE_PROCESS_ARGUMENTS, "/proc/self/cmdline");
	size = sys_getcwd(path, sizeof(path));
	if (size > 1)
		write_fact(thread, TRACE_PROCESS_DIRECTORY, path, (size_t)size - 1);
	sys_uname(&name);
	write_fact(thread, TRACE_PROCESS_HOST, name.nodename, strlen(name.nodename));
	write_fact(thread, TRACE_PROCESS_KERNEL, name.release, strlen(name.release));
	write_fact(thread, TRACE_PROCESS_AGENT, MALLOW_VERSION, sizeof(MALLOW_VERSION) - 1);
}

void process_count_loss(enum trace_loss reason)
{
	if (process && process->file.header)
		__atomic_fetch_add(&process->file.header->losses[reason], 1, __ATOMIC_RELAXED);
}

void process_stop(enum trace_loss reason, const char *text)
{
	uint32_t state = PROCESS_RECORDING;
	struct slow slow;

	if (process_state() == PROCESS_RECORDING)
		process->loss_if_stopped = reason;
	if (!__atomic_compare_exchange_n(&process->state, &state, PROCESS_STOPPED, false,
					 __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		return;
	process->file.header->end_reason = TRACE_END_STOPPED;
	if (process_system_calls_forbidden())
		return;
	slow_begin(&slow);
	file_write_header(&process->file);
	log_start(SETTING_LOG_ERROR);
	log_string("recording '");
	log_string(process->file.path);
	log_string("' stopped: ");
	log_string(text);
	log_end();
	slow_end(&slow);
}

void process_stop_for_file(enum file_result result)
{
	switch (result) {
	case FILE_OK:
		break;
	case FILE_WRITE_FAILED:
		process_stop(TRACE_LOSS_WRITE_FAILED,
			     "cannot write (disk full or a size limit); later events are lost");
		break;
	case FILE_REPLACED:
		process_stop(TRACE_LOSS_FILE_REPLACED,
			     "the program closed its descriptor and the file is gone; later events "
			     "are lost");
		break;
	case FILE_WINDOW_FULL:
		process_stop(TRACE_LOSS_WINDOW_FULL, "the space prepared for seccomp is full");
		break;
	}
}

static void flush_private(void)
{
	struct thread *thread;
	void *scratch;

	if (!process->file.header_private || process_system_calls_forbidden())
		return;
	scratch = sys_mmap(NULL, FLUSH_SIZE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	for (thread = __atomic_load_n(&process->threads, __ATOMIC_ACQUIRE); thread;
	     thread = thread->all_next)
		if (!syscall_error(scratch))
			slot_flush_private(thread, scratch, FLUSH_SIZE);
	if (!syscall_error(scratch))
		sys_munmap(scratch, FLUSH_SIZE);
	file_write_header(&process->file);
}

bool process_is_borrowed(void)
{
	return process && process->pid && !process_system_calls_forbidden() &&
	       process->pid != sys_getpid();
}

void process_end(enum trace_end reason, int status)
{
	struct thread *thread = thread_self;
	struct trace_header *header;
	struct slow slow;
	uint64_t now = 0;

	if (process_state() < PROCESS_RECORDING || process_state() > PROCESS_STOPPED ||
	    process_is_borrowed())
		return;
	header = process->file.header;
	if (process_state() == PROCESS_STOPPED) {
		// The counters of a private header.
		slow_begin(&slow);
		if (!process_system_calls_forbidden())
			file_write_header(&process->file);
		slow_end(&slow);
		return;
	}
	slow_begin(&slow);
	if (thread && thread->cursor && !thread->busy) {
		struct record record = {.kind = TRACE_RECORD_END, .has_time = true};
		uint64_t outer;

		outer = thread_begin_work(thread);
		if (!process_system_calls_forbidden()) {
			sample_write(thread);
			now = clock_monotonic_ns();
		}
		record.ticks = clock_ticks();
		record_add(&record, now);
		record_add(&record, reason);
		record_add(&record, (uint64_t)status);
		record_write(thread, &record);
		thread_end_work(thread, outer);
	}
	header->end_reason = reason;
	header->end_status = (uint32_t)status;
	__atomic_store_n(&header->state, TRACE_STATE_ENDED, __ATOMIC_RELEASE);
	flush_private();
	slow_end(&slow);
}

void process_resume(void)
{
	if (process_state() != PROCESS_RECORDING || process_is_borrowed())
		return;
	process->file.header->end_reason = TRACE_END_UNKNOWN;
	__atomic_store_n(&process->file.header->state, TRACE_STATE_RUNNING, __ATOMIC_RELEASE);
}

static bool prepare_window(void)
{
	return !process->file.header_private && clock_use_tsc &&
	       file_open_window(&process->file, WINDOW_SIZE) && pool_begin_reserve(RESERVE_SIZE);
}

bool process_forbid_system_calls(bool strict)
{
	struct slow slow;

	if (process_system_calls_forbidden() || process_is_borrowed())
		return false;
	if (strict && process_state() == PROCESS_RECORDING)
		process_stop(TRACE_LOSS_STRICT_MODE,
			     "the program enters seccomp strict mode; later events are lost");
	if (process_state() == PROCESS_RECORDING) {
		slow_begin(&slow);
		if (!prepare_window())
			process_stop(TRACE_LOSS_WINDOW_FULL,
				     "the program installs a seccomp filter, and no space could be "
				     "mapped");
		slow_end(&slow);
	}
	// Strict mode forbids the counter, too; otherwise it is the only clock that is left.
	if (!clock_use_tsc || strict)
		clock_freeze();
	unwind_forbid_system_calls(true);
	__atomic_store_n(&process_forbidden, true, __ATOMIC_RELEASE);
	return true;
}

void process_allow_system_calls(void)
{
	__atomic_store_n(&process_forbidden, false, __ATOMIC_RELEASE);
	clock_thaw();
	unwind_forbid_system_calls(false);
	pool_end_reserve();
	if (process_state() == PROCESS_RECORDING)
		file_close_window(&process->file);
}
