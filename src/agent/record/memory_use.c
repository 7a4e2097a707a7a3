/* Memory samples: what /proc/self/status says, minus the agent's own memory. */
#include "agent/record/memory_use.h"

#include <linux/magic.h>

#include "agent/arch/syscall.h"
#include "agent/event/thread.h"
#include "agent/ground/clock.h"
#include "agent/ground/config.h"
#include "agent/ground/libc.h"
#include "agent/ground/own_memory.h"
#include "agent/ground/state.h"
#include "agent/ground/text.h"
#include "agent/record/fact_record.h"
#include "agent/record/recording.h"
#include "base/compiler.h"

/*
 * Until it is as long as MEMORY_SAMPLES says, an interval is this part of the run so far, but not
 * shorter than that part of MEMORY_SAMPLES, and than the minimum.
 */
#define SOONER          50
#define INTERVAL_NS_MIN 20000000

#define STATUS_SIZE 1536 /* the lines that are read stand in its first kilobyte */

/* In the order of the record's fields; the last one is none of them. */
enum field {
	FIELD_VIRTUAL_SIZE,
	FIELD_RESIDENT,
	FIELD_ANONYMOUS,
	FIELD_FILE,
	FIELD_SHARED,
	FIELD_SWAP,
	FIELD_PEAK,
};
static const char *const names[] = {
	"VmSize:", "VmRSS:", "RssAnon:", "RssFile:", "RssShmem:", "VmSwap:", "VmHWM:"};
#define NAME_COUNT (ARRAY_COUNT(names))

static void parse_line(const char *line, uint64_t *values)
{
	for (size_t i = 0; i < NAME_COUNT; i++) {
		size_t length = strlen(names[i]);

		if (strncmp(line, names[i], length))
			continue;
		for (line += length; *line == ' ' || *line == '\t'; line++)
			;
		values[i] = text_parse(line, NULL) * 1024;
		return;
	}
}

static void leave_out(uint64_t *values, enum field field, uint64_t bytes)
{
	values[field] -= bytes < values[field] ? bytes : values[field];
}

/* The field that counts the slots: on tmpfs, shared mappings are not counted as a file's. */
static enum field field_of_slots(void)
{
	struct kernel_statfs system = {0};

	return sys_fstatfs(recording->file.fd, &system) == 0 && system.f_type == TMPFS_MAGIC
		       ? FIELD_SHARED
		       : FIELD_FILE;
}

/*
 * Resident bytes of the slots, which are shared mappings of the recording's file. Private slots are
 * own_pages.h: 0. Other threads may be rolling their slots: one that is gone by now counts as
 * not resident.
 */
static uint64_t measure_slots(int pages, uint64_t *virtual_size)
{
	const struct thread *thread = __atomic_load_n(&process->threads, __ATOMIC_ACQUIRE);
	uint32_t looked_at = 0;
	uint64_t slots = 0;

	if (process->header->flags & TRACE_PRIVATE_SLOTS)
		return 0;
	for (; thread; thread = thread->all_next) {
		const void *slot = __atomic_load_n(&thread->chunk, __ATOMIC_ACQUIRE);

		if (!slot)
			continue;
		*virtual_size += thread->slot_size;
		// Only that many are looked at. The others count in full: most slots are nearly
		// full.
		slots += ++looked_at <= OWN_MEMORY_LOOKS
				 ? own_memory_resident(pages, slot, thread->slot_size)
				 : thread->slot_size;
	}
	return slots;
}

/*
 * Leaves out what is ours, and says in the header how much that is: `mallow run`, which counts the
 * same from outside, leaves as much out.
 */
static void leave_out_own(uint64_t *values)
{
	struct trace_memory *said =
		(struct trace_memory *)((char *)process->header + TRACE_MEMORY_OFFSET);
	// Private slots are no mappings. And their file system is not asked: it may hang.
	enum field field = recording->file.header_private ? FIELD_FILE : field_of_slots();
	int pages = own_memory_open();
	struct own_memory own;
	uint64_t slots;

	own_memory_measure(pages, &own);
	slots = measure_slots(pages, &own.virtual_size);
	if (pages >= 0)
		sys_close(pages);
	leave_out(values, FIELD_VIRTUAL_SIZE, own.virtual_size);
	leave_out(values, FIELD_RESIDENT, own.anonymous + slots);
	leave_out(values, FIELD_ANONYMOUS, own.anonymous);
	leave_out(values, field, slots);
	*said = (struct trace_memory){
		.own_virtual = own.virtual_size,
		.own_anonymous = own.anonymous,
		.own_file = field == FIELD_FILE ? slots : 0,
		.own_shared = field == FIELD_SHARED ? slots : 0,
		.peak = values[FIELD_PEAK],
		.peak_source = TRACE_PEAK_SAMPLED,
	};
	file_write_header(&recording->file);
}

bool memory_use_take(struct fact_record *ret)
{
	char status[STATUS_SIZE];
	uint64_t values[NAME_COUNT] = {0};
	uint64_t ticks = clock_ticks();
	int fd = config.value[SETTING_MEMORY_SAMPLES]
			 ? sys_open("/proc/self/status", O_RDONLY | O_CLOEXEC, 0)
			 : -1;
	long size = fd < 0 ? 0 : sys_read(fd, status, sizeof(status) - 1);

	if (fd >= 0)
		sys_close(fd);
	if (size <= 0)
		return false;
	status[size] = '\0';
	for (const char *line = status; *line;) {
		parse_line(line, values);
		while (*line && *line != '\n')
			line++;
		if (*line)
			line++;
	}
	leave_out_own(values);
	*ret = (struct fact_record){.kind = TRACE_RECORD_MEMORY, .has_time = true, .ticks = ticks};
	for (size_t i = 0; i < FIELD_PEAK; i++)
		fact_record_add(ret, values[i]);
	return true;
}

/* How far the next sample should be from the last: short runs want a curve, too. */
static uint64_t interval_at(uint64_t now)
{
	uint64_t longest = config.value[SETTING_MEMORY_SAMPLES];
	uint64_t interval = (now - process->header->start_monotonic_ns) / SOONER;

	if (interval < longest / SOONER)
		interval = longest / SOONER;
	if (interval < INTERVAL_NS_MIN)
		interval = INTERVAL_NS_MIN;
	return interval < longest ? interval : longest;
}

bool memory_use_take_due(struct fact_record *ret)
{
	uint64_t last = __atomic_load_n(&recording->last_sample_ns, __ATOMIC_RELAXED);
	uint64_t now;

	if (!config.value[SETTING_MEMORY_SAMPLES] || process_system_calls_forbidden())
		return false;
	now = clock_monotonic_ns();
	if (now - last < interval_at(now))
		return false;
	// One thread wins; the others' samples would show the same.
	return __atomic_compare_exchange_n(&recording->last_sample_ns, &last, now, false,
					   __ATOMIC_RELAXED, __ATOMIC_RELAXED) &&
	       memory_use_take(ret);
}
