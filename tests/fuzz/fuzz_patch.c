/*
 * libFuzzer target: the file of a module in which the agent looks for functions of allocators. It
 * reads nothing outside of the file, and what it would patch it can move. Half of the mutants are
 * made section by section.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../symbols/elf_damage.h"
#include "agent/ground/own_place.h"
#include "agent/patch/patch_file.h"
#include "allocators/entry.h"

#define ROOM 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t capacity, unsigned int seed);
// libFuzzer's; not there in a replay, which makes no mutants.
__attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t capacity);

static volatile size_t read_bytes; /* so that no reading is optimised away */

// The agent's; the file is in memory here.
void *own_place_map_file(size_t size, int fd)
{
	return NULL;
}

void own_place_unmap(void *memory, size_t size)
{
}

static void look_at(const struct patch_file *file, const struct file_function *function)
{
	struct entry_step steps[ENTRY_STEPS];
	uint8_t moved[ENTRY_MOVED_SIZE];
	struct entry_plan plan;
	size_t readable;
	const uint8_t *code = patch_file_code(file, function->address, &readable);

	read_bytes = strlen(function->name) + (size_t)patch_file_size_of(file, function->address);
	if (!code)
		return;
	plan = entry_plan_make(code, function->size, readable, function->address,
			       function->match.function->arguments, 1);
	if (plan.refusal)
		return;
	if (plan.end > readable || entry_move(&plan, code, function->address, moved,
					      function->address, steps) > sizeof(moved))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct file_function list[ROOM];
	struct patch_functions functions = {.list = list, .room = ROOM};
	struct function_names names;
	uint8_t *bytes = malloc(size ? size : 1); // of that size, so that each byte too far is seen
	struct patch_file file = {bytes, size};
	const uint8_t *id;
	uint64_t start, end;

	if (!bytes)
		return 0;
	memcpy(bytes, data, size);
	function_names_init(&names, NULL);
	patch_file_functions(&file, &names, &functions);
	if (*functions.prefix) {
		names.prefix = functions.prefix;
		functions.count = 0;
		patch_file_functions(&file, &names, &functions);
	}
	functions.count = function_choice_make(&functions.signs, list, functions.count);
	for (size_t i = 0; i < functions.count; i++)
		look_at(&file, &list[i]);
	read_bytes = strlen(function_choice_allocator(&functions.signs, list, functions.count)) +
		     patch_file_range(&file, &start, &end) + patch_file_is_jemalloc(&file);
	for (size_t left = patch_file_build_id(&file, &id); left--;)
		read_bytes += id[left];
	free(bytes);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t capacity, unsigned int seed)
{
	uint64_t state = ((uint64_t)seed << 1 | 1) * 0x9e3779b97f4a7c15u;

	if (seed % 2 && LLVMFuzzerMutate)
		return LLVMFuzzerMutate(data, size, capacity);
	return elf_damage(data, size, &state);
}
