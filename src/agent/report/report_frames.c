#include "agent/report/report_frames.h"

#include "agent/arch/syscall.h"
#include "agent/ground/file_name.h"
#include "agent/ground/libc.h"
#include "agent/ground/text.h"
#include "agent/record/build_id.h"
#include "agent/record/recording.h"
#include "agent/report/symbol_file.h"
#include "agent/unwind/unwind.h"
#include "trace/live.h"

static void note_frame(void *argument, uint64_t pc, uint32_t id)
{
	struct report_frames *frames = argument;

	// Newer frames are not in the stacks that are looked at.
	if (id < frames->count)
		frames->frames[id].pc = pc;
}

bool report_frames_make(struct report_frames *frames, struct report_memory *memory)
{
	*frames = (struct report_frames){0};
	frames->count = __atomic_load_n(&recording->modules.next_frame_id, __ATOMIC_ACQUIRE) + 1;
	frames->frames = report_memory_take(memory, frames->count * sizeof(*frames->frames));
	if (!frames->frames)
		return false;
	unwind_each_frame_id(note_frame, frames);
	return true;
}

uint64_t report_frames_pc(const struct report_frames *frames, uint32_t frame)
{
	return frame < frames->count ? frames->frames[frame].pc : 0;
}

static uint64_t hash_bytes(const void *bytes, size_t size)
{
	uint64_t hash = 14695981039346656037ull; // FNV-1a

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ ((const uint8_t *)bytes)[i]) * 1099511628211ull;
	return hash;
}

static void enter_module(struct report_frames *frames, uint64_t address)
{
	struct unwind_module module;
	const uint8_t *id;
	size_t size;

	if (address - frames->start < frames->end - frames->start)
		return;
	frames->start = frames->end = frames->bias = frames->module_key = 0;
	if (!unwind_module_at(address, &module))
		return;
	frames->start = module.start;
	frames->end = module.end;
	frames->bias = module.bias;
	size = build_id_of_module(&module, &id);
	if (size) {
		frames->module_key = hash_bytes(id, size);
	} else {
		const char *name = text_base_name(module.path ? module.path : "");

		frames->module_key = hash_bytes(name, strlen(name));
	}
}

uint64_t report_frames_key(struct report_frames *frames, uint32_t frame)
{
	struct report_frame *entry;

	if (frame >= frames->count)
		return frame;
	entry = &frames->frames[frame];
	if (!entry->key && entry->pc) {
		enter_module(frames, entry->pc - 1);
		entry->key = report_frames_hash(frames->module_key, entry->pc - frames->bias);
	}
	return entry->key;
}

struct report_module {
	struct report_module *next;
	uint64_t start, end, bias;
	char path[FILE_NAME_MAX];
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
