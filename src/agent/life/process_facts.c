#include "agent/life/process_facts.h"

#include <stdint.h>
#include <sys/auxv.h>
#include <sys/utsname.h>

#include "agent/arch/syscall.h"
#include "agent/ground/clock.h"
#include "agent/ground/config.h"
#include "agent/ground/file_name.h"
#include "agent/ground/libc.h"
#include "agent/ground/link_map.h"
#include "agent/patch/patch.h"
#include "agent/record/fact_record.h"
#include "agent/record/modules.h"
#include "agent/unwind/proc_maps.h"

#define FACT_MAX 32000

static void write_fact(struct thread *thread, enum trace_process_field field, const void *text,
		       size_t size)
{
	struct fact_record record = {.kind = TRACE_RECORD_PROCESS, .text = text, .text_size = size};

	fact_record_add(&record, field);
	fact_record_write(thread, &record);
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

/* Says whose malloc the program calls, if it is not ours. */
static void write_unseen(struct thread *thread)
{
	static const char malloc_[] = "\0\0malloc"; // ends the object; no name; the symbol
	static char text[FILE_NAME_MAX + sizeof(malloc_)];
	const char *before = link_map_before_us("malloc");
	const char *object = before && *before ? before : program_path;
	size_t size = before ? strlen(object) : 0;
	struct fact_record record = {
		.kind = TRACE_RECORD_UNSEEN,
		.has_time = true,
		.ticks = clock_ticks(),
		.text = text,
		.text_size = size + sizeof(malloc_),
	};

	if (!before || size >= FILE_NAME_MAX || patch_sees(before))
		return;
	memcpy(text, object, size);
	memcpy(text + size, malloc_, sizeof(malloc_));
	fact_record_add(&record, *before ? TRACE_UNSEEN_PRELOADED : TRACE_UNSEEN_OWN_MALLOC);
	fact_record_add(&record, 0);
	fact_record_write(thread, &record);
}

void process_facts_write(struct thread *thread)
{
	static char path[FILE_NAME_MAX];
	static struct utsname name;
	long size;

	if (program_path[0])
		write_fact(thread, TRACE_PROCESS_EXECUTABLE, program_path, strlen(program_path));
	if (config.value[SETTING_RECORD_ARGS])
		write_file_fact(thread, TRACE_PROCESS_ARGUMENTS, "/proc/self/cmdline");
	if (config.value[SETTING_RECORD_ENV])
		write_file_fact(thread, TRACE_PROCESS_ENVIRONMENT, "/proc/self/environ");
	write_unseen(thread);
	size = sys_getcwd(path, sizeof(path));
	if (size > 1)
		write_fact(thread, TRACE_PROCESS_DIRECTORY, path, (size_t)size - 1);
	sys_uname(&name);
	write_fact(thread, TRACE_PROCESS_HOST, name.nodename, strlen(name.nodename));
	write_fact(thread, TRACE_PROCESS_KERNEL, name.release, strlen(name.release));
	write_fact(thread, TRACE_PROCESS_AGENT, MALLOW_VERSION, sizeof(MALLOW_VERSION) - 1);
	modules_define_loaded(thread);
	patch_tell(thread, true);
}

// Weak, like every import of the agent.
extern unsigned long getauxval(unsigned long type) __attribute__((weak));

/* The file that is mapped at an address. "": none, or there is no /proc. */
static void path_at(uint64_t address)
{
	struct proc_mapping mapping;
	struct proc_maps maps;
	bool found = false;

	if (!proc_maps_open(&maps))
		return;
	while (!found && proc_maps_next(&maps, &mapping) && mapping.start <= address)
		found = address < mapping.end;
	if (found)
		proc_maps_path(&maps, program_path, sizeof(program_path));
	proc_maps_close(&maps);
}

/* What the program was executed by: all that is known without /proc. */
static void path_of_exec(void)
{
	const char *path = getauxval ? (const char *)getauxval(AT_EXECFN) : NULL;
	size_t length = path ? strlen(path) : 0;
	long directory = 0;

	if (!length || length >= sizeof(program_path) / 2)
		return;
	if (path[0] != '/') {
		directory = sys_getcwd(program_path, sizeof(program_path) / 2);
		if (directory <= 1)
			return;
		program_path[directory - 1] = '/';
		if (length > 2 && path[0] == '.' && path[1] == '/') {
			path += 2;
			length -= 2;
		}
	}
	memcpy(program_path + directory, path, length + 1);
}

void program_path_find(void)
{
	// `ld.so ./program`: the kernel has executed the loader, so it knows of no other one. A
	// static program has no place in a loader's list.
	if (getauxval && !getauxval(AT_BASE))
		path_at(link_map_program());
	program_by_loader = program_path[0];
	if (!program_path[0] &&
	    sys_readlink("/proc/self/exe", program_path, sizeof(program_path) - 1) <= 0)
		path_of_exec();
}
