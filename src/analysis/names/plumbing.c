#include "analysis/names/plumbing.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/names/function_name.h"
#include "analysis/names/pattern.h"
#include "analysis/names/symbolized.h"
#include "base/compiler.h"
#include "hosted/arena.h"
#include "hosted/vec.h"

/* The part of a frame that a pattern is compared with. */
enum kind {
	PLUMBING_module,
	PLUMBING_function,
	PLUMBING_file,
	PLUMBING_rust,
	PLUMBING_script,
	PLUMBING_host,
};

/* Those that a file may have. */
static const char *const kinds[] = {"module:", "function:", "file:"};

struct row {
	enum kind kind;
	const char *pattern;
};

struct plumbing {
	struct arena arena;
	VEC(struct row) added;
};

static const struct row built_in[] = {
#define PLUMBING(kind, pattern) {PLUMBING_##kind, pattern},
#include "analysis/names/plumbing.def"
#undef PLUMBING
};

struct err *plumbing_create(struct plumbing **ret)
{
	struct plumbing *plumbing = calloc(1, sizeof(*plumbing));

	if (!plumbing)
		return err_no_memory();
	*ret = plumbing;
	return NULL;
}

void plumbing_destroy(struct plumbing *plumbing)
{
	if (!plumbing)
		return;
	vec_deinit(&plumbing->added);
	arena_deinit(&plumbing->arena);
	free(plumbing);
}

/* A file that is being read. */
struct reading {
	struct plumbing *plumbing;
	const char *origin;
};

static struct err *add_line(void *context, uint32_t number, const char *line, size_t size)
{
	const struct reading *reading = context;

	for (size_t i = 0; i < ARRAY_COUNT(kinds); i++) {
		size_t length = strlen(kinds[i]);
		struct row row = {.kind = (enum kind)i};

		if (size <= length || memcmp(line, kinds[i], length) != 0 || memchr(line, 0, size))
			continue;
		row.pattern = arena_copy(&reading->plumbing->arena, line + length, size - length);
		if (!row.pattern || !vec_push(&reading->plumbing->added, row))
			return err_no_memory();
		return NULL;
	}
	return err_create("%s: line %u, '%.*s', is not module:PATTERN, function:PATTERN or "
			  "file:PATTERN",
			  reading->origin, number, size < 100 ? (int)size : 100, line);
}

struct err *plumbing_add(struct plumbing *plumbing, const char *origin, const char *text,
			 size_t size)
{
	size_t before = plumbing->added.count;
	struct reading reading = {plumbing, origin};
	struct err *err = pattern_lines(text, size, add_line, &reading);

	if (err)
		plumbing->added.count = before;
	return err;
}

/* "<&alloc::vec::Vec<T> as core::fmt::Debug>::fmt" is Vec's: from alloc on. */
static const char *of_type(const struct named_frame *frame)
{
	const char *path = frame->function;

	if (!named_frame_is_demangled(frame))
		return path;
	path = function_name_path(path);
	if (*path != '<')
		return path;
	path += strspn(path, "<&*[(");
	while (strncmp(path, "mut ", 4) == 0 || strncmp(path, "const ", 6) == 0 ||
	       strncmp(path, "dyn ", 4) == 0)
		path = strchr(path, ' ') + 1;
	return path;
}

static bool matches(const struct row *rows, size_t count, const char *const *texts)
{
	for (size_t i = 0; i < count; i++)
		if (pattern_matches(rows[i].pattern, texts[rows[i].kind]))
			return true;
	return false;
}

bool plumbing_has(const struct plumbing *plumbing, const struct named_frame *frame)
{
	const char *function = frame->has_symbol ? of_type(frame) : NULL;
	const char *const texts[] = {
		[PLUMBING_module] = frame->module_name,
		[PLUMBING_function] = function,
		[PLUMBING_file] = frame->file,
		[PLUMBING_rust] = function_name_rust(frame->raw_function) ? function : NULL,
		[PLUMBING_script] = frame->script ? frame->module : NULL,
		[PLUMBING_host] = frame->beside_scripts ? frame->module : NULL,
	};

	return matches(built_in, ARRAY_COUNT(built_in), texts) ||
	       (plumbing && matches(plumbing->added.items, plumbing->added.count, texts));
}
