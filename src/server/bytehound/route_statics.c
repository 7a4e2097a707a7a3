/*
 * /dynamic_statics and /dynamic_constants: what initialisers of C++ statics allocated and nobody
 * freed, by the places of these statics; and as trees. Constants are those whose initialiser the
 * compiler cloned for constant arguments.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/blocks/block_bits.h"
#include "hosted/cleanup.h"
#include "hosted/regex.h"
#include "server/routes/route.h"
#include "server/data/selection.h"

#define STATICS   "__static_initialization_and_destruction_0(?!.*constprop)"
#define CONSTANTS "__static_initialization_and_destruction_0.*constprop"

/* What was allocated for a line; at first one for each site. */
struct place {
	const char *file; /* NULL: not for a static */
	uint32_t line;
	uint64_t count, size;
};

/* Adds the conditions that such blocks meet. */
static struct err *add_conditions(struct request *request, const char *pattern, struct reply *reply)
{
	static const char lifetime[] = "lifetime", function[] = "function_regex";
	struct err *err = request_add_condition(request, lifetime, lifetime, "only_leaked", reply);

	return err ? err : request_add_condition(request, function, function, pattern, reply);
}

/* Finds the outermost frame whose function matches, if its place is known. */
static struct err *find_place(const struct dataset *dataset, const struct regex *regex,
			      uint32_t stack, uint64_t *searches_ns, struct place *place)
{
	uint32_t count;
	const struct stack_node *nodes = recording_stacks(dataset->recording, &count);
	struct err *err = NULL;

	for (; !err && stack != RECORDING_NONE; stack = nodes[stack].parent) {
		const struct named_frame *lines;
		size_t line_count;

		err = symbolized_frame(dataset->symbolized, nodes[stack].frame, &lines,
				       &line_count);
		for (size_t i = 0; !err && i < line_count; i++) {
			bool found = false;

			if (lines[i].has_symbol && lines[i].file && lines[i].line)
				err = regex_search(regex, lines[i].function, searches_ns, &found);
			if (found)
				*place = (struct place){lines[i].file, lines[i].line, 0, 0};
		}
	}
	return err;
}

static void add_blocks(const struct dataset *dataset, const struct selection *selection,
		       struct place *places)
{
	const struct block_columns *blocks = dataset->blocks;

	BLOCK_BITS_EACH(selection->bits, blocks->count, i)
	{
		struct place *place = &places[blocks->site[i]];

		place->count++;
		place->size += blocks->size[i] + blocks->slack[i];
	}
}

/* Those without a place come last. */
static int compare_places(const void *left, const void *right)
{
	const struct place *a = left, *b = right;
	int order = !a->file || !b->file ? !a->file - !b->file : strcmp(a->file, b->file);

	return order ? order : (a->line > b->line) - (a->line < b->line);
}

/* Finds what each line has, in the order of files and lines. Call it under the lock. */
static struct err *find_places(struct request *request, struct reply *reply, const char *pattern,
			       struct place **ret, uint32_t *count)
{
	cleanup(selection_release_at) struct selection *selection = NULL;
	cleanup(regex_destroy_at) struct regex *regex = NULL;
	const struct dataset *dataset = request->dataset;
	const struct site *sites = recording_sites(dataset->recording, count);
	auto_free struct place *places = calloc((size_t)*count + 1, sizeof(*places));
	uint64_t searches_ns = 500000000;
	struct err *err = places ? request_select(request, reply, &selection) : err_no_memory();

	if (err || !selection)
		return err;
	err = regex_create(pattern, &regex);
	for (uint32_t i = 0; !err && i < *count; i++)
		err = find_place(dataset, regex, sites[i].stack, &searches_ns, &places[i]);
	if (err)
		return err;
	add_blocks(dataset, selection, places);
	qsort(places, *count, sizeof(*places), compare_places);
	*ret = steal(&places);
	return NULL;
}

static void put_sums(struct json_writer *json, const struct place *places, uint32_t count)
{
	uint64_t blocks = 0, size = 0;

	for (uint32_t i = 0; i < count; i++) {
		blocks += places[i].count;
		size += places[i].size;
	}
	json_field_u64(json, "count", blocks);
	json_field_u64(json, "size", size);
}

/* How many places from the first on are alike: of one file, or of one line. */
static uint32_t count_alike(const struct place *places, uint32_t count, bool line)
{
	uint32_t same = 1;

	while (same < count && strcmp(places[same].file, places[0].file) == 0 &&
	       (!line || places[same].line == places[0].line))
		same++;
	return same;
}

static void put_file(struct json_writer *json, const struct place *places, uint32_t count)
{
	json_key(json, places[0].file);
	json_object(json);
	put_sums(json, places, count);
	json_key(json, "per_line");
	json_object(json);
	for (uint32_t i = 0, same; i < count; i += same) {
		char line[16];

		same = count_alike(&places[i], count - i, true);
		snprintf(line, sizeof(line), "%u", places[i].line);
		json_key(json, line);
		json_object(json);
		put_sums(json, &places[i], same);
		json_end(json);
	}
	json_end(json);
	json_end(json);
}

static void put_files(struct json_writer *json, const struct place *places, uint32_t count)
{
	json_object(json);
	put_sums(json, places, count);
	json_key(json, "per_file");
	json_object(json);
	for (uint32_t i = 0, same; i < count; i += same) {
		same = count_alike(&places[i], count - i, false);
		put_file(json, &places[i], same);
	}
	json_end(json);
	json_end(json);
}

static struct err *answer_places(struct request *request, struct reply *reply, const char *pattern)
{
	cleanup(buf_deinit) struct buf buf = BUF_EMPTY;
	auto_free struct place *places = NULL;
	struct json_writer json;
	uint32_t count = 0, used = 0;
	struct err *err = add_conditions(request, pattern, reply);

	if (err || reply->status)
		return err;
	// Names of files are the data set's.
	dataset_lock(request->dataset);
	err = find_places(request, reply, pattern, &places, &count);
	for (uint32_t i = 0; places && i < count && places[i].file; i++)
		if (places[i].count)
			places[used++] = places[i];
	json_init(&json, &buf, false);
	if (places)
		put_files(&json, places, used);
	dataset_unlock(request->dataset);
	return err || reply->status ? err : reply_whole(reply, &buf);
}

static struct err *answer_tree(struct request *request, struct reply *reply, const char *pattern)
{
	struct err *err = add_conditions(request, pattern, reply);

	return err || reply->status ? err : route_allocation_ascii_tree(request, reply);
}

struct err *route_dynamic_statics(struct request *request, struct reply *reply)
{
	return answer_places(request, reply, STATICS);
}

struct err *route_dynamic_constants(struct request *request, struct reply *reply)
{
	return answer_places(request, reply, CONSTANTS);
}

struct err *route_dynamic_statics_ascii_tree(struct request *request, struct reply *reply)
{
	return answer_tree(request, reply, STATICS);
}

struct err *route_dynamic_constants_ascii_tree(struct request *request, struct reply *reply)
{
	return answer_tree(request, reply, CONSTANTS);
}
