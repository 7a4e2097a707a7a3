#include "agent/life/program_path.h"

#include <stdint.h>
#include <sys/auxv.h>

#include "agent/arch/syscall.h"
#include "agent/ground/file_name.h"
#include "agent/ground/libc.h"
#include "agent/ground/link_map.h"
#include "agent/unwind/proc_maps.h"

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
