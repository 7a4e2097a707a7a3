#include "analysis/findings/own_functions.h"

#include <string.h>

#include "analysis/names/function_name.h"
#include "analysis/names/own_code.h"
#include "analysis/findings/own_functions_data.h"
#include "hosted/buf.h"
#include "hosted/cleanup.h"

void own_functions_destroy(struct own_functions *functions)
{
	if (!functions)
		return;
	intern_deinit(&functions->names);
	map_deinit(&functions->numbers);
	vec_deinit(&functions->functions);
	vec_deinit(&functions->lines);
	free(functions->frames);
	free(functions->named);
	free(functions->values);
	free(functions->candidates);
	free(functions->in);
	free(functions->inside);
	free(functions);
}

struct err *own_functions_create(const struct recording *recording, struct symbolized *symbolized,
				 struct own_functions **ret)
{
	uint32_t count;
	const struct site *sites = recording_sites(recording, &count);

	return own_functions_create_of(recording, symbolized, sites, count, ret);
}

struct err *own_functions_create_of(const struct recording *recording,
				    struct symbolized *symbolized, const struct site *sites,
				    uint32_t site_count, struct own_functions **ret)
{
	cleanup(own_functions_destroy_at) struct own_functions *functions =
		calloc(1, sizeof(*functions));
	uint32_t frames;

	if (!functions)
		return err_no_memory();
	recording_frames(recording, &frames);
	functions->symbolized = symbolized;
	functions->sites = sites;
	functions->site_count = site_count;
	functions->nodes = recording_stacks(recording, &functions->node_count);
	functions->marked = FUNCTION_NONE;
	functions->frames = calloc((size_t)frames + 1, sizeof(*functions->frames));
	functions->values = calloc((size_t)functions->node_count + 1, sizeof(uint64_t));
	functions->candidates = calloc((size_t)functions->node_count + 1, sizeof(uint64_t));
	functions->in = calloc((size_t)functions->node_count + 1, sizeof(uint32_t));
	functions->inside = calloc((size_t)functions->node_count + 1, sizeof(uint32_t));
	if (!functions->frames || !functions->values || !functions->candidates || !functions->in ||
	    !functions->inside)
		return err_no_memory();
	*ret = steal(&functions);
	return NULL;
}

struct symbolized *own_functions_symbolized(const struct own_functions *functions)
{
	return functions->symbolized;
}

/*
 * What a function is known by: its name, and of a script's the file, too: each has a <module>, and
 * many have a main. NULL: no memory.
 */
static const char *key_of(struct own_functions *functions, const struct named_frame *frame)
{
	cleanup(buf_deinit) struct buf key = BUF_EMPTY;

	if (!frame->script)
		return intern_text(&functions->names, frame->function);
	buf_printf(&key, "%s\n%s", frame->function, frame->module);
	return buf_string(&key) ? intern_text(&functions->names, key.data) : NULL;
}

static struct err *number_of(struct own_functions *functions, const struct named_frame *frame,
			     uint32_t *ret)
{
	struct function function = {.frame = frame, .own = named_frame_is_own(frame)};
	uint64_t *number;

	const char *key = key_of(functions, frame);

	function.name = frame->function;
	number = key ? map_put(&functions->numbers, (uintptr_t)key) : NULL;
	if (!number)
		return err_no_memory();
	if (*number == MAP_NONE) {
		*number = functions->functions.count;
		if (!vec_push(&functions->functions, function))
			return err_no_memory();
	}
	*ret = (uint32_t)*number;
	return NULL;
}

static struct err *name_lines(struct own_functions *functions, uint32_t frame)
{
	const struct named_frame *named;
	struct err *err;
	size_t count;

	err = symbolized_frame(functions->symbolized, frame, &named, &count);
	if (err)
		return err;
	functions->frames[frame].first = (uint32_t)functions->lines.count;
	for (size_t i = 0; i < count; i++) {
		uint32_t number = FUNCTION_NONE;

		if (named_frame_is_own(&named[i]))
			err = number_of(functions, &named[i], &number);
		functions->frames[frame].starts |= named_frame_is_start(&named[i]);
		if (err)
			return err;
		if (!vec_push(&functions->lines, number))
			return err_no_memory();
	}
	functions->frames[frame].count = (uint32_t)count;
	return NULL;
}

struct err *own_functions_lines(struct own_functions *functions, uint32_t node,
				const uint32_t **ret, uint32_t *count)
{
	uint32_t frame = functions->nodes[node].frame;
	struct err *err = functions->frames[frame].count ? NULL : name_lines(functions, frame);

	if (err)
		return err;
	*ret = functions->lines.items + functions->frames[frame].first;
	*count = functions->frames[frame].count;
	return NULL;
}

static struct err *name_sites(struct own_functions *functions)
{
	uint32_t *named = malloc(((size_t)functions->site_count + 1) * sizeof(*named));
	struct err *err = NULL;

	if (!named)
		return err_no_memory();
	for (uint32_t i = 0; !err && i < functions->site_count; i++) {
		struct own_code code;

		named[i] = FUNCTION_NONE;
		err = own_code_of_stack(functions->symbolized, functions->sites[i].stack, &code);
		if (!err && code.frame)
			err = number_of(functions, code.frame, &named[i]);
	}
	if (err)
		free(named);
	else
		functions->named = named;
	return err;
}

struct err *own_functions_named(struct own_functions *functions, const uint32_t **ret,
				uint32_t *function_count)
{
	struct err *err = functions->named ? NULL : name_sites(functions);

	if (err)
		return err;
	*ret = functions->named;
	*function_count = (uint32_t)functions->functions.count;
	return NULL;
}

const struct named_frame *own_functions_frame(const struct own_functions *functions,
					      uint32_t number)
{
	return functions->functions.items[number].frame;
}

bool own_functions_is_overloaded(const struct own_functions *functions, uint32_t number)
{
	const char *name = functions->functions.items[number].name;
	size_t length = function_name_length(name);

	for (uint32_t i = 0; i < functions->functions.count; i++)
		if (i != number &&
		    function_name_length(functions->functions.items[i].name) == length &&
		    strncmp(functions->functions.items[i].name, name, length) == 0)
			return true;
	return false;
}
