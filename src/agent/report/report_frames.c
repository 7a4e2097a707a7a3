#include "agent/report/report_frames.h"

#include "agent/ground/libc.h"
#include "agent/ground/text.h"
#include "agent/record/build_id.h"
#include "agent/record/recording.h"
#include "agent/unwind/unwind.h"
#include "trace/live.h"

static void note(void *argument, uint64_t pc, uint32_t id)
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
	unwind_each_frame_id(note, frames);
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

static void find_module(struct report_frames *frames, uint64_t address)
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
		find_module(frames, entry->pc - 1);
		entry->key = report_frames_hash(frames->module_key, entry->pc - frames->bias);
	}
	return entry->key;
}
