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
#include "agent/toggle.h"
#include "agent/zero_memory.h"

#define WINDOW_SIZE  (32u << 20)  /* of recording after a seccomp filter */
#define RESERVE_SIZE (256u << 20) /* address space for tables then; touched when used */
#define FACT_MAX     32000
#define FLUSH_SIZE   (1u << 20) /* of a slot that deep stacks have made large */

struct process *process;
bool process_forbidden;
uint8_t process_id[16];

// Kept across fork: whether the settings are read and the tables of the unwinder made.
static bool started_before;

// Whether another image of the run came before: its recordings are named by it.
static bool later_image;

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
			(process->file.header_private ? TRACE_PRIVATE_SLOTS : 0) |
			(config_free_stacks() ? TRACE_FREE_STACKS : 0) |
			(toggle_begins() ? TRACE_BEGUN_BY_START : 0);
	header->sample_mean = config.value[SETTING_SAMPLE];
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

static bool create_file(struct file *file, bool later)
{
	bool shared = config.value[SETTING_SLOTS] == SETTING_SLOTS_SHARED;
	int error = file_create(file, later);

	if (error >= 0) {
		error = file_map_header(file, shared);
		if (error >= 0)
			return true;
		file_discard(file);
	}
	log_start(SETTING_LOG_ERROR);
	log_string("cannot write '");
	log_string(file->path);
	log_string("'");
	log_error_number(-error);
	log_string("; the program runs unrecorded");
	log_end();
	return false;
}

static void warn_unknown_placeholder(enum setting setting)
{
	char text[] = "%x";

	text[1] = file_name_unknown(config.text[setting]);
	if (!text[1] || config_is_child())
		return;
	log_start(SETTING_LOG_ERROR);
	log_string(setting_info(setting)->variable);
	log_string(": ");
	log_string(text);
	log_string(" is no placeholder and stays as it is");
	log_end();
}

bool process_read_settings(void)
{
	static enum { UNREAD, READING, READ } state;
	int none = UNREAD;

	if (__atomic_load_n((int *)&state, __ATOMIC_ACQUIRE) == READ)
		return true;
	if (!__atomic_compare_exchange_n((int *)&state, &none, READING, false, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return false;
	real_resolve();
	log_init();
	if (!config_read()) {
		__atomic_store_n((int *)&state, UNREAD, __ATOMIC_RELEASE);
		return false;
	}
	zero_memory_begin();
	warn_unknown_placeholder(SETTING_OUTPUT);
	warn_unknown_placeholder(SETTING_LOGFILE);
	environment_init();
	if (!config.value[SETTING_FOLLOW])
		config_hide_preload();
	__atomic_store_n((int *)&state, READ, __ATOMIC_RELEASE);
	return true;
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

	if (!process_read_settings())
		return false;
	clock_init();
	event_clock_init();
	unwind_init(&host);
	started_before = true;
	return true;
}

/* The header last, and at once: others count losses in it. */
static void swap_file(struct file *next)
{
	struct trace_header *header = next->header;

	next->header = process->file.header;
	memcpy(&process->file, next, sizeof(*next));
	__atomic_store_n(&process->file.header, header, __ATOMIC_RELEASE);
}

/* process->file is there: what it begins with, and who is told of it. */
static void open_recording(bool forked, const uint8_t parent[16])
{
	fill_header(process->file.header, forked, parent);
	file_write_header(&process->file);
	config_publish_id(process_id);
	register_recording();
	log_start(SETTING_LOG_INFO);
	log_string("recording to ");
	log_string(process->file.path);
	log_end();
	if (process->file.header_private && config.value[SETTING_SLOTS] == SETTING_SLOTS_SHARED)
		log_line(SETTING_LOG_WARN, "the file system cannot map the file: a kill may lose "
					   "the last events of each thread");
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
	later_image = memcmp(parent, none, 16) != 0;
	if (!create_file(&process->file, later_image)) {
		memcpy(process_id, forked ? parent : none, 16); // as before: it may be tried again
		return PROCESS_OFF;
	}
	open_recording(forked, parent);
	return PROCESS_RECORDING;
}

/*
 * The old recording's threads do no longer write, but for the ends of events. They are told first:
 * who asks for a block meanwhile finds out that the answer may be of either (event_keep()).
 */
static void forget_recording(void)
{
	__atomic_add_fetch(&process->recording, 1, __ATOMIC_SEQ_CST);
	unwind_forget_ids();
	slot_forget_free();
	address_set_clear(&process->recorded);
	process->others_known = false;
	process->modules.count = 0;
	__atomic_store_n(&process->next_stream, 0, __ATOMIC_RELAXED);
}

bool process_begin_next(void)
{
	// Of the one before: another thread may be on its way to a counter in it.
	static struct trace_header *former_header;
	static struct file next;
	struct trace_header *header = process->file.header;
	uint8_t parent[16];

	memcpy(parent, header->parent_id, 16);
	if (!thread_self || !thread_self->cursor)
		thread_begin_slow(); // somebody has to write the end
	process_end(TRACE_END_NEXT, 0);
	file_retire(&process->file);
	memset(&next, 0, sizeof(next));
	if (!create_file(&next, later_image)) {
		process_resume();
		return false;
	}
	if (former_header)
		sys_munmap(former_header, TRACE_PAGE);
	former_header = header;
	forget_recording();
	make_id(process_id);
	swap_file(&next);
	open_recording(false, parent);
	return true;
}

/* Once: each event tries again. */
static void say_no_memory(void)
{
	static uint32_t said;

	if (__atomic_exchange_n(&said, 1, __ATOMIC_RELAXED))
		return;
	process_read_settings(); // how to say it
	log_line(SETTING_LOG_ERROR, "no memory to record with; the program runs unrecorded until "
				    "there is");
}

bool process_start(void)
{
	uint32_t state = PROCESS_NEW;

	// The child of a process under a filter is under it, too, and has no window of its own.
	if (process_state() == PROCESS_NEW &&
	    (process_system_calls_forbidden() || (toggle_is_off() && !toggle_settle_slow())))
		return false;
	if (!make_process()) {
		say_no_memory();
		return false;
	}
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

void process_try_again(void)
{
	uint32_t state = PROCESS_OFF;

	if (process)
		__atomic_compare_exchange_n(&process->state, &state, PROCESS_NEW, false,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED);
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
	if (config.value[SETTING_RECORD_ARGS])
		write_file_fact(thread, TRACE_PROCESS_ARGUMENTS, "/proc/self/cmdline");
	if (config.value[SETTING_RECORD_ENV])
		write_file_fact(thread, TRACE_PROCESS_ENVIRONMENT, "/proc/self/environ");
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
	// Once: a handler may fork, and the child, which returns here, find it wiped.
	struct trace_header *header =
		process ? __atomic_load_n(&process->file.header, __ATOMIC_RELAXED) : NULL;

	if (header)
		__atomic_fetch_add(&header->losses[reason], 1, __ATOMIC_RELAXED);
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
	case FILE_LIMIT:
		process_stop(TRACE_LOSS_SIZE_LIMIT,
			     "it has reached MALLOW_MAX_FILE_SIZE; later events are lost");
		break;
	}
}

bool process_flush(void)
{
	struct thread *thread;
	void *scratch;
	bool whole = true;

	if (!process->file.header_private)
		return true;
	if (process_system_calls_forbidden())
		return false;
	scratch = sys_mmap(NULL, FLUSH_SIZE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	for (thread = __atomic_load_n(&process->threads, __ATOMIC_ACQUIRE); thread;
	     thread = thread->all_next)
		whole &= !syscall_error(scratch) && slot_flush_private(thread, scratch, FLUSH_SIZE);
	if (!syscall_error(scratch))
		sys_munmap(scratch, FLUSH_SIZE);
	file_write_header(&process->file);
	return whole && process_state() == PROCESS_RECORDING;
}

bool process_is_borrowed(void)
{
	return process && process->pid && !process_system_calls_forbidden() &&
	       process->pid != sys_getpid();
}

/* Events that were lost while the recording went on; where it stopped, that was said then. */
static uint64_t count_lost(const struct trace_header *header)
{
	uint64_t lost = 0;

#define LOSS(number, NAME, name, loses_events, text)                                               \
	if (loses_events)                                                                          \
		lost += __atomic_load_n(&header->losses[number], __ATOMIC_RELAXED);
#include "trace/losses.def"
#undef LOSS
	return lost;
}

/* At an exec nothing is said of losses: the same line may come from each of many. */
static void say_end(enum trace_end reason)
{
	uint64_t lost = reason == TRACE_END_EXEC ? 0 : count_lost(process->file.header);

	log_start(lost ? SETTING_LOG_ERROR : SETTING_LOG_INFO);
	log_string("recording '");
	log_string(process->file.path);
	log_string("' ends");
	if (lost) {
		log_string("; events lost: ");
		log_number(lost);
	}
	log_end();
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
		// Why it stopped, end_reason says already. The counters of a private header.
		__atomic_store_n(&header->state, TRACE_STATE_ENDED, __ATOMIC_RELEASE);
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
	process_flush();
	if (process_state() == PROCESS_RECORDING)
		say_end(reason);
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

/* Said now, for nobody knows whether a line could be written when the start comes. */
static void say_too_late(void)
{
	struct slow slow;

	slow_begin(&slow);
	log_line(SETTING_LOG_ERROR, "the program installs a seccomp filter before recording was "
				    "started: a start has no effect from now on");
	slow_end(&slow);
}

bool process_forbid_system_calls(bool strict)
{
	struct slow slow;

	if (process_system_calls_forbidden() || process_is_borrowed())
		return false;
	if (process_state() == PROCESS_NEW && toggle_state == TOGGLE_OFF)
		say_too_late();
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
