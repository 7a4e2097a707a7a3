#include "analysis/views/jemalloc.h"

#include <string.h>

#include "hosted/file_name.h"

static bool is_jemalloc(const struct recorded_module *module)
{
	return strncmp(file_name(module->path), "libjemalloc", 11) == 0;
}

bool jemalloc_serves(const struct recording *recording)
{
	uint32_t count;
	const struct recorded_module *modules = recording_modules(recording, &count);

	if (recording_facts(recording)->allocator != TRACE_ALLOCATOR_OTHER)
		return false;
	for (uint32_t i = 0; i < count; i++)
		if (is_jemalloc(&modules[i]))
			return true;
	return false;
}

bool jemalloc_called(const struct recording *recording, uint32_t stack)
{
	uint32_t count;
	const struct recorded_module *modules = recording_modules(recording, &count);
	uint32_t module;

	if (stack == RECORDING_NONE)
		return false;
	module = recording_frames(recording,
				  &count)[recording_stacks(recording, &count)[stack].frame]
			 .module;
	return module != RECORDING_NONE && is_jemalloc(&modules[module]);
}
