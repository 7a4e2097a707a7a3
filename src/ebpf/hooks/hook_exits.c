#include "ebpf/hooks/hook_exits.h"

#include "ebpf/arch/probe_place.h"

#define DEPTH_MAX  4
#define PROBES_MAX 128

struct search {
	struct image_code *code;
	const struct image_functions *functions;
	const struct function_names *names;
	struct hook_exits *exits;
};

static struct err *follow_jump(struct search *search, uint64_t address, int depth);

static bool was_passed(const struct hook_exits *exits, uint64_t address)
{
	for (size_t i = 0; i < exits->passed.count; i++)
		if (address >= exits->passed.items[i].start && address < exits->passed.items[i].end)
			return true;
	return false;
}

/* Whether a function is probed in the kernel's way, so that a call that gets there counts there. */
static bool is_probed(const struct image_functions *functions, uint64_t address)
{
	for (size_t i = 0; i < functions->list.count; i++) {
		const struct file_function *function = &functions->list.items[i];

		if (function->address == address)
			return !function->match.function->throws;
	}
	return false;
}

/* Adds the exits of the function, or the part of one, that is `range`. */
static struct err *add_exits(struct search *search, const struct fde_range *range, int depth)
{
	struct hook_exits *exits = search->exits;
	struct probe_exit found[PROBE_EXITS_MAX];
	struct err *err = NULL;
	size_t count;

	if (!vec_push(&exits->passed, *range))
		return err_no_memory();
	if (!image_code_read(search->code, range->start, range->end - range->start)) {
		exits->failure = "a function that it jumps to is too long";
		return NULL;
	}
	if (!probe_place_exits(search->code->bytes.items, search->code->bytes.count, range->start,
			       found, &count)) {
		exits->failure = "its instructions are not understood";
		return NULL;
	}
	for (size_t i = 0; !err && !exits->failure && i < count; i++) {
		if (found[i].jumps)
			err = follow_jump(search, found[i].target, depth + 1);
		else if (exits->addresses.count == PROBES_MAX)
			exits->failure = "it has too many exits";
		else if (!vec_push(&exits->addresses, range->start + found[i].offset))
			err = err_no_memory();
	}
	return err;
}

/* Follows a jump out of a function. */
static struct err *follow_jump(struct search *search, uint64_t address, int depth)
{
	struct hook_exits *exits = search->exits;
	const struct fde_range *range;
	struct function_match match;
	const char *name;

	for (int i = 0; i < DEPTH_MAX; i++) {
		if (was_passed(exits, address) || is_probed(search->functions, address))
			return NULL;

		enum image_jump jump = image_code_jump(search->code, address, &address, &name);

		if (jump == IMAGE_JUMP_NONE)
			break;
		if (jump == IMAGE_JUMP_HERE)
			continue;
		// What is probed elsewhere counts there.
		if (jump == IMAGE_JUMP_OUTSIDE && function_names_match(search->names, name, &match))
			return NULL;
		exits->failure = "it ends by a jump to another library";
		return NULL;
	}
	if (depth > DEPTH_MAX) {
		exits->failure = "it ends by a long chain of jumps";
		return NULL;
	}

	struct err *err = image_code_function(search->code, address, &range);

	if (err)
		return err;
	if (!range) {
		exits->failure = "it ends by a jump to code that no table describes";
		return NULL;
	}

	struct fde_range copy = *range;

	return add_exits(search, &copy, depth);
}

struct err *hook_exits_find(struct image_code *code, uint64_t address, uint64_t size,
			    const struct image_functions *functions,
			    const struct function_names *names, struct hook_exits *ret)
{
	struct search search = {code, functions, names, ret};
	struct fde_range range = {address, address + size};
	const struct fde_range *known;
	struct err *err;

	if (!size) {
		err = image_code_function(code, address, &known);
		if (err)
			return err;
		if (!known || known->start != address) {
			ret->failure = "nothing says how long it is";
			return NULL;
		}
		range = *known;
	}
	err = add_exits(&search, &range, 0);
	if (!err && !ret->failure && !ret->addresses.count)
		ret->failure = "it has no exit that could be found";
	return err;
}

void hook_exits_deinit(struct hook_exits *exits)
{
	vec_deinit(&exits->addresses);
	vec_deinit(&exits->passed);
}
