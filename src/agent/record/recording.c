#include "agent/record/recording.h"

#include <errno.h>

#include "agent/arch/syscall.h"
#include "agent/event/sink.h"
#include "agent/ground/clock.h"
#include "agent/ground/config.h"
#include "agent/ground/libc.h"
#include "agent/ground/log.h"
#include "agent/ground/next_functions.h"
#include "agent/ground/state.h"
#include "agent/ground/text.h"
#include "agent/unwind/arch.h"

struct recording *recording;

/*
 * The time at which the process started: field 22 of /proc/self/stat. The name in field 2 may hold
 * blanks and parentheses.
 */
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

void recording_file_make_id(uint8_t id[16])
{
	if (sys_getrandom(id, 16) == 16)
		return;
	// Without the system call (old kernels, seccomp filters): times and addresses are different
	// enough.
	uint64_t parts[2] = {clock_realtime_ns() ^ clock_ticks() << 32,
			     (uint64_t)sys_getpid() << 32 ^ (uintptr_t)id};
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
	header->machine = ARCH_ELF_MACHINE;
	header->byte_order = BYTES_BIG_ENDIAN ? TRACE_BIG_ENDIAN : TRACE_LITTLE_ENDIAN;
	header->pointer_size = sizeof(void *);
	header->clock = clock_use_tsc ? TRACE_CLOCK_TSC : TRACE_CLOCK_MONOTONIC_NS;
	header->allocator = real.allocator_is_glibc  ? TRACE_ALLOCATOR_GLIBC
			    : real.allocator_is_musl ? TRACE_ALLOCATOR_MUSL
						     : TRACE_ALLOCATOR_OTHER;
	header->flags = (forked ? TRACE_BEGUN_BY_FORK : 0) |
			(recording->file.header_private ? TRACE_PRIVATE_SLOTS : 0) |
			(config_free_stacks() ? TRACE_FREE_STACKS : 0) |
			(toggle_started ? TRACE_BEGUN_BY_START : 0) |
			(config_is_live() ? TRACE_LIVE : 0);
	header->sample_mean = config.value[SETTING_SAMPLE];
	header->cull_ns = config.value[SETTING_CULL];
	header->start_ticks = clock_ticks();
	header->start_monotonic_ns = clock_monotonic_ns();
	header->start_realtime_ns = clock_realtime_ns();
	if (sink->start)
		sink->start(header);
	// Last: a file without its magic is not yet a recording.
	__atomic_store_n(&header->magic, TRACE_MAGIC, __ATOMIC_RELEASE);
}

bool recording_file_create(struct file *file, bool later)
{
	bool shared = config.value[SETTING_SLOTS] == SETTING_SLOTS_SHARED;
	int error = file_create(file, later);

	if (error >= 0) {
		error = file_map_header(file, shared);
		if (error >= 0 && sink->begin && !sink->begin(process->header))
			error = -ENOMEM;
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

void recording_file_open(bool forked, const uint8_t parent[16])
{
	fill_header(process->header, forked, parent);
	file_write_header(&recording->file);
	config_publish_id(process_id);
}

void recording_file_say(void)
{
	log_start(SETTING_LOG_INFO);
	log_string("recording to ");
	log_string(recording->file.path);
	log_end();
	if (recording->file.header_private && config.value[SETTING_SLOTS] == SETTING_SLOTS_SHARED)
		log_line(SETTING_LOG_WARN, "the file system cannot map the file: a kill may lose "
					   "the last events of each thread");
}
