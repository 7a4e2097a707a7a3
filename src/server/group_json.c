#include "server/group_json.h"

#include "analysis/breakdown/breakdown.h"
#include "analysis/names/own_code.h"
#include "hosted/cleanup.h"
#include "server/rest_json.h"

static uint32_t stack_of(const struct recording *recording, uint32_t site)
{
	uint32_t count;

	return recording_sites(recording, &count)[site].stack;
}

/* Writes what code is called. */
static struct err *put_code_name(struct json_writer *json, const struct own_code *code)
{
	cleanup(buf_deinit) struct buf name = BUF_EMPTY;

	breakdown_put_name(&name, BREAKDOWN_FUNCTION, code->frame);
	if (!buf_string(&name))
		return buf_finish(&name);
	json_text(json, name.data);
	return NULL;
}

static struct err *put_site_name(struct json_writer *json, struct symbolized *symbolized,
				 uint32_t stack)
{
	struct own_code code;
	struct err *err = own_code_of_stack(symbolized, stack, &code);

	return err ? err : put_code_name(json, &code);
}

static const char *name_of_thread(const struct recording *recording, uint32_t group)
{
	uint32_t count;
	const struct recorded_thread *threads = recording_threads(recording, &count);

	return group < count ? threads[group].name : "[no thread]";
}

static const char *name_of_entry(uint32_t entry)
{
	switch (entry) {
#define ENTRY(number, NAME, name, aligned)                                                         \
	case TRACE_OP_##NAME:                                                                      \
		return name;
#include "trace/entries.def"
#undef ENTRY
	default:
		return NULL;
	}
}

static void put_name_of_pool(struct json_writer *json, const struct recording *recording,
			     uint32_t group)
{
	uint32_t count;
	const struct recorded_pool *pools = recording_pools(recording, &count);

	if (group >= count)
		json_text(json, "[no pool]");
	else if (*pools[group].name)
		json_text(json, pools[group].name);
	else
		json_hex(json, pools[group].address);
}

static struct err *put_name(struct json_writer *json, const struct recording *recording,
			    struct symbolized *symbolized, const struct block_groups *groups,
			    uint32_t group)
{
	static const char *const fates[] = {
		[FATE_NEVER_FREED] = "never_freed",
		[FATE_FREED_LATE] = "freed_late",
		[FATE_FREED_SOON] = "freed_soon",
	};

	if (group == RECORDING_NONE) {
		json_null(json);
		return NULL;
	}
	switch (groups->by) {
	case BLOCK_GROUPS_FATE:
		json_text(json, fates[group]);
		return NULL;
	case BLOCK_GROUPS_THREAD:
	case BLOCK_GROUPS_FREE_THREAD:
		json_text(json, name_of_thread(recording, group));
		return NULL;
	case BLOCK_GROUPS_SITE:
		return put_site_name(json, symbolized, stack_of(recording, group));
	case BLOCK_GROUPS_MARK:
		json_text(json, group ? groups->marks[group - 1] : "[start]");
		return NULL;
	case BLOCK_GROUPS_POOL:
		put_name_of_pool(json, recording, group);
		return NULL;
	case BLOCK_GROUPS_ENTRY:
		json_text(json, name_of_entry(group));
		return NULL;
	default:
		json_text(json, groups->names ? groups->names[group] : NULL);
		return NULL;
	}
}

void group_json_field_stack(struct json_writer *json, const struct recording *recording,
			    uint32_t site)
{
	json_key(json, "backtrace_id");
	if (site == RECORDING_NONE)
		json_null(json);
	else
		json_u64(json, stack_of(recording, site));
}

struct err *group_json_put(struct json_writer *json, const struct recording *recording,
			   struct symbolized *symbolized, const struct block_groups *groups,
			   uint32_t group, uint32_t others)
{
	bool thread = groups->by == BLOCK_GROUPS_THREAD, site = groups->by == BLOCK_GROUPS_SITE;
	struct err *err;

	json_key(json, "name");
	err = put_name(json, recording, symbolized, groups, group);
	if (err)
		return err;
	json_field_u64(json, "others", group == RECORDING_NONE ? others : 0);
	rest_json_field_thread(json, recording, thread ? group : RECORDING_NONE);
	group_json_field_stack(json, recording, site ? group : RECORDING_NONE);
	return NULL;
}

void group_json_field_peak(struct json_writer *json, const struct recording *recording,
			   const struct group_json_peak *peak)
{
	json_key(json, "peak");
	json_object(json);
	json_field_u64(json, "at_ns", peak->at_ns);
	json_field_u64(json, "bytes", peak->bytes);
	json_field_u64(json, "blocks", peak->blocks);
	rest_json_field_thread(json, recording, peak->thread);
	group_json_field_stack(json, recording, peak->site);
	json_end(json);
}

static void put_number_or_null(struct json_writer *json, bool known, uint64_t number)
{
	if (known)
		json_u64(json, number);
	else
		json_null(json);
}

struct err *group_json_put_site(struct json_writer *json, struct symbolized *symbolized,
				uint32_t stack)
{
	struct own_code code;
	struct err *err = own_code_of_stack(symbolized, stack, &code);

	if (err)
		return err;
	json_object(json);
	json_key(json, "name");
	err = put_code_name(json, &code);
	json_field_text(json, "file", code.frame ? code.frame->file : NULL);
	json_key(json, "line");
	put_number_or_null(json, code.frame && code.frame->line, code.frame ? code.frame->line : 0);
	json_field_text(json, "call", code.call ? code.call->function : NULL);
	json_end(json);
	return err;
}

/* Begins a column, or writes that there is none. */
static void put_column_or_null(struct json_writer *json, const char *key, bool has)
{
	json_key(json, key);
	if (has)
		json_array(json);
	else
		json_null(json);
}

/* What a group's own code is; frames are NULL if it has none. */
static struct err *code_of(const struct recording *recording, struct symbolized *symbolized,
			   const struct block_groups *groups, uint32_t group, struct own_code *ret)
{
	*ret = (struct own_code){0};
	if (groups->by == BLOCK_GROUPS_SITE)
		return own_code_of_stack(symbolized, stack_of(recording, group), ret);
	ret->frame = groups->frames[group];
	return NULL;
}

/* Columns of whose code they are. A function's file is that of one of its places. */
static void put_code(struct json_writer *json, const struct own_code *codes, bool lines,
		     uint32_t count)
{
	json_key(json, "file");
	json_array(json);
	for (uint32_t i = 0; i < count; i++)
		json_text(json, codes[i].frame ? codes[i].frame->file : NULL);
	json_end(json);
	put_column_or_null(json, "line", lines);
	for (uint32_t i = 0; lines && i < count; i++)
		put_number_or_null(json, codes[i].frame && codes[i].frame->line,
				   codes[i].frame ? codes[i].frame->line : 0);
	if (lines)
		json_end(json);
}

static void put_calls(struct json_writer *json, const struct own_code *codes, bool known,
		      uint32_t count)
{
	put_column_or_null(json, "call", known);
	for (uint32_t i = 0; known && i < count; i++)
		json_text(json, codes[i].call ? codes[i].call->function : NULL);
	if (known)
		json_end(json);
}

static struct err *put_codes(struct json_writer *json, const struct recording *recording,
			     struct symbolized *symbolized, const struct block_groups *groups,
			     const uint32_t *numbers, uint32_t count)
{
	auto_free struct own_code *codes = calloc((size_t)count + 1, sizeof(*codes));
	bool site = groups->by == BLOCK_GROUPS_SITE, line = groups->by == BLOCK_GROUPS_LINE;
	struct err *err = NULL;

	if (!codes)
		return err_no_memory();
	if (!site && (!groups->frames || groups->by == BLOCK_GROUPS_MODULE)) {
		put_column_or_null(json, "file", false);
		put_column_or_null(json, "line", false);
		put_column_or_null(json, "call", false);
		return NULL;
	}
	for (uint32_t i = 0; !err && i < count; i++)
		err = code_of(recording, symbolized, groups, numbers[i], &codes[i]);
	if (err)
		return err;
	put_code(json, codes, site || line, count);
	put_calls(json, codes, site, count);
	return NULL;
}

static void put_threads(struct json_writer *json, const struct recording *recording,
			const struct block_groups *groups, const uint32_t *numbers, uint32_t count)
{
	bool of_threads =
		groups->by == BLOCK_GROUPS_THREAD || groups->by == BLOCK_GROUPS_FREE_THREAD;
	uint32_t thread_count;
	const struct recorded_thread *threads = recording_threads(recording, &thread_count);

	put_column_or_null(json, "thread", of_threads);
	for (uint32_t i = 0; of_threads && i < count; i++) {
		bool known = numbers[i] < thread_count;

		put_number_or_null(json, known, known ? threads[numbers[i]].tid : 0);
	}
	if (of_threads)
		json_end(json);
}

static void put_stacks(struct json_writer *json, const struct recording *recording,
		       const struct block_groups *groups, const uint32_t *numbers, uint32_t count)
{
	bool of_sites = groups->by == BLOCK_GROUPS_SITE;

	put_column_or_null(json, "backtrace_id", of_sites);
	for (uint32_t i = 0; of_sites && i < count; i++)
		json_u64(json, stack_of(recording, numbers[i]));
	if (of_sites)
		json_end(json);
}

/* key: of the least value, or the largest. */
static void put_ends(struct json_writer *json, const char *key, bool largest,
		     const struct block_groups *groups, const uint32_t *numbers, uint32_t count)
{
	bool has = block_groups_have_ranges(groups);

	put_column_or_null(json, key, has);
	for (uint32_t i = 0; has && i < count; i++) {
		uint64_t range[2] = {0};
		bool known = block_groups_range(groups, numbers[i], &range[0], &range[1]);

		put_number_or_null(json, known, range[largest]);
	}
	if (has)
		json_end(json);
}

struct err *group_json_put_table(struct json_writer *json, const struct recording *recording,
				 struct symbolized *symbolized, const struct block_groups *groups,
				 const uint32_t *numbers, uint32_t count)
{
	struct err *err = NULL;

	json_object(json);
	json_field_text(json, "by", block_groups_word(groups->by));
	json_key(json, "name");
	json_array(json);
	for (uint32_t i = 0; !err && i < count; i++)
		err = put_name(json, recording, symbolized, groups, numbers[i]);
	json_end(json);
	if (!err)
		err = put_codes(json, recording, symbolized, groups, numbers, count);
	if (err)
		return err;
	put_threads(json, recording, groups, numbers, count);
	put_stacks(json, recording, groups, numbers, count);
	put_ends(json, "least", false, groups, numbers, count);
	put_ends(json, "largest", true, groups, numbers, count);
	json_end(json);
	return NULL;
}
