#include "agent/report/report_names.h"

#include "agent/arch/syscall.h"
#include "agent/ground/file_name.h"
#include "agent/ground/libc.h"
#include "agent/record/build_id.h"
#include "agent/report/symbol_file.h"
#include "agent/unwind/unwind.h"

#define PATH_ROOM 1024

struct report_module {
	struct report_module *next;
	uint64_t start, end, bias;
	char path[PATH_ROOM];
	struct symbol_file symbols;
};

/* The program itself has no name in the loader's list. */
static void set_path(struct report_module *entry, const char *path)
{
	size_t length = path ? strlen(path) : 0;

	if (!length)
		memcpy(entry->path, program_path, sizeof(entry->path));
	else if (length < sizeof(entry->path))
		memcpy(entry->path, path, length);
}

static struct report_module *add_module(struct report_names *names,
					const struct unwind_module *module)
{
	struct report_module *entry = report_memory_take(&names->memory, sizeof(*entry));
	// By /proc, because a file that is running may have been deleted.
	const char *program = program_by_loader ? program_path : "/proc/self/exe";
	const char *path = module->path && *module->path ? module->path : program;
	const uint8_t *id = NULL;
	size_t id_size = build_id_of_module(module, &id);

	if (!entry)
		return NULL;
	entry->start = module->start;
	entry->end = module->end;
	entry->bias = module->bias;
	set_path(entry, module->path);
	// Without a build id the file may have been replaced since; mostly it was not.
	symbol_file_read(&entry->symbols, path, id, id_size, &names->memory);
	entry->next = names->modules;
	names->modules = entry;
	return entry;
}

static struct report_module *find_module(struct report_names *names, uint64_t address)
{
	struct unwind_module module;

	for (struct report_module *entry = names->modules; entry; entry = entry->next)
		if (address >= entry->start && address < entry->end)
			return entry;
	return unwind_module_at(address, &module) ? add_module(names, &module) : NULL;
}

struct report_name report_names_find(struct report_names *names, uint64_t pc)
{
	struct report_module *module = pc ? find_module(names, pc - 1) : NULL;
	struct report_name name = {.module = "", .address = pc};

	if (!module)
		return name;
	name.module = module->path;
	name.address = pc - module->bias;
	name.function = symbol_file_find(&module->symbols, name.address - 1, &name.offset);
	name.offset++; // of the return address, as in every tool
	return name;
}

void report_names_release(struct report_names *names)
{
	names->modules = NULL;
	report_memory_release(&names->memory);
}
