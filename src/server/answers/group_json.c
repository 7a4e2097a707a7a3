#include "server/answers/group_json.h"

#include "analysis/groups/site_groups.h"
#include "analysis/names/own_code.h"
#include "analysis/names/site_identity.h"
#include "hosted/cleanup.h"
#include "server/answers/rest_json.h"

static uint32_t stack_of(const struct recording *recording, uint32_t site)
{
	uint32_t count;

	return recording_sites(recording, &count)[site].stack;
}

/* *ret: what code is called, in memory of scratch. */
static struct err *name_of_code(const struct own_code *code, struct buf *scratch, const char **ret)
{
	scratch->size = 0;
	site_groups_put_name(scratch, BLOCK_GROUPS_FUNCTION, code->frame);
	*ret = buf_string(scratch);
	return *ret ? NULL : buf_finish(scratch);
}

static struct err *name_of_site(struct symbolized *symbolized, uint32_t stack, struct buf *scratch,
				const char **ret)
{
	struct own_code code;
	struct err *err = own_code_of_stack(symbolized, stack, &code);

	return err ? err : name_of_code(&code, scratch, ret);
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

static struct err *name_of_pool(const struct recording *recording, uint32_t group,
				struct buf *scratch, const char **ret)
{
	uint32_t count;
	const struct recorded_pool *pools = recording_pools(recording, &count);

	if (group >= count || *pools[group].name) {
		*ret = group < count ? pools[group].name : "[no pool]";
		return NULL;
	}
	scratch->size = 0;
	buf_printf(scratch, "0x%llx", (unsigned long long)pools[group].address);
	*ret = buf_string(scratch);
	return *ret ? NULL : buf_finish(scratch);
}

/* *ret: what a group is called, in scratch if it must be made; NULL: nothing. */
static struct err *name_of(const struct recording *recording, struct symbolized *symbolized,
			   const struct block_groups *groups, uint32_t group, struct buf *scratch,
			   const char **ret)
{
	static const char *const fates[] = {
		[FATE_NEVER_FREED] = "never_freed",
		[FATE_FREED_LATE] = "freed_late",
		[FATE_FREED_SOON] = "freed_soon",
	};

	*ret = NULL;
	if (group == RECORDING_NONE)
		return NULL;
	switch (groups->by) {
	case BLOCK_GROUPS_FATE:
		*ret = fates[group];
		return NULL;
	case BLOCK_GROUPS_THREAD:
	case BLOCK_GROUPS_FREE_THREAD:
		*ret = name_of_thread(recording, group);
		return NULL;
	case BLOCK_GROUPS_SITE:
		return name_of_site(symbolized, stack_of(recording, group), scratch, ret);
	case BLOCK_GROUPS_MARK:
		*ret = groups->marks[group];
		return NULL;
	case BLOCK_GROUPS_POOL:
		return name_of_pool(recording, group, scratch, ret);
	case BLOCK_GROUPS_ENTRY:
		*ret = name_of_entry(group);
		return NULL;
	default:
		*ret = groups->names ? groups->names[group] : NULL;
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
	cleanup(buf_deinit) struct buf scratch = BUF_EMPTY;
	const char *name;
	struct err *err = name_of(recording, symbolized, groups, group, &scratch, &name);

	if (err)
		return err;
	json_field_text(json, "name", name);
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
	cleanup(buf_deinit) struct buf scratch = BUF_EMPTY;
	struct own_code code;
	const char *name;
	struct err *err = own_code_of_stack(symbolized, stack, &code);

	if (!err)
		err = name_of_code(&code, &scratch, &name);
	if (err)
		return err;
	json_object(json);
	json_field_text(json, "name", name);
	json_field_text(json, "file", code.frame ? code.frame->file : NULL);
	json_key(json, "line");
	put_number_or_null(json, code.frame && code.frame->line, code.frame ? code.frame->line : 0);
	json_field_text(json, "call", code.call ? code.call->function : NULL);
	json_end(json);
	return err;
}

static void put_or_null(struct columns *columns, bool known, uint64_t number)
{
	if (known)
		columns_u64(columns, number);
	else
		columns_null(columns);
}

/* What a group's own code is; frames are NULL if it has none. */
static struct err *code_of(const struct recording *recording, struct symbolized *symbolized,
			   const struct block_groups *groups, uint32_t group, struct own_code *ret)
{
	*ret = (struct own_code){0};
	if (groups->by == BLOCK_GROUPS_SITE)
		return own_code_of_stack(symbolized, stack_of(recording, group), ret);
	ret->frame = groups->frames[group];
	ret->call = groups->calls ? groups->calls[group] : NULL;
	return NULL;
}

/* Columns of whose code they are. A function's file is that of one of its places. */
static void put_code(struct columns *columns, const struct own_code *codes, bool lines,
		     uint32_t count)
{
	columns_begin(columns, "file");
	for (uint32_t i = 0; i < count; i++)
		columns_text(columns, codes[i].frame ? codes[i].frame->file : NULL);
	columns_end(columns);
	if (!lines)
		return columns_missing(columns, "line");
	columns_begin(columns, "line");
	for (uint32_t i = 0; i < count; i++)
		put_or_null(columns, codes[i].frame && codes[i].frame->line,
			    codes[i].frame ? codes[i].frame->line : 0);
	columns_end(columns);
}

static void put_calls(struct columns *columns, const struct own_code *codes, bool known,
		      uint32_t count)
{
	if (!known)
		return columns_missing(columns, "call");
	columns_begin(columns, "call");
	for (uint32_t i = 0; i < count; i++)
		columns_text(columns, codes[i].call ? codes[i].call->function : NULL);
	columns_end(columns);
}

static struct err *put_codes(struct columns *columns, const struct recording *recording,
			     struct symbolized *symbolized, const struct block_groups *groups,
			     const uint32_t *numbers, uint32_t count)
{
	auto_free struct own_code *codes = calloc((size_t)count + 1, sizeof(*codes));
	bool site = groups->by == BLOCK_GROUPS_SITE, line = groups->by == BLOCK_GROUPS_LINE;
	bool calls = site || groups->calls;
	struct err *err = NULL;

	if (!codes)
		return err_no_memory();
	if (!site && (!groups->frames || groups->by == BLOCK_GROUPS_MODULE)) {
		columns_missing(columns, "file");
		columns_missing(columns, "line");
		columns_missing(columns, "call");
		return NULL;
	}
	for (uint32_t i = 0; !err && i < count; i++)
		err = code_of(recording, symbolized, groups, numbers[i], &codes[i]);
	if (err)
		return err;
	put_code(columns, codes, calls || line, count);
	put_calls(columns, codes, calls, count);
	return NULL;
}

static void put_threads(struct columns *columns, const struct recording *recording,
			const struct block_groups *groups, const uint32_t *numbers, uint32_t count)
{
	uint32_t thread_count;
	const struct recorded_thread *threads = recording_threads(recording, &thread_count);

	if (groups->by != BLOCK_GROUPS_THREAD && groups->by != BLOCK_GROUPS_FREE_THREAD)
		return columns_missing(columns, "thread");
	columns_begin(columns, "thread");
	for (uint32_t i = 0; i < count; i++) {
		bool known = numbers[i] < thread_count;

		put_or_null(columns, known, known ? threads[numbers[i]].tid : 0);
	}
	columns_end(columns);
}

static void put_stacks(struct columns *columns, const struct recording *recording,
		       const struct block_groups *groups, const uint32_t *numbers, uint32_t count)
{
	if (groups->by != BLOCK_GROUPS_SITE)
		return columns_missing(columns, "backtrace_id");
	columns_begin(columns, "backtrace_id");
	for (uint32_t i = 0; i < count; i++)
		columns_u64(columns, stack_of(recording, numbers[i]));
	columns_end(columns);
}

/* Columns of what stacks are called on every host. */
static struct err *put_identities(struct columns *columns, const struct recording *recording,
				  struct symbolized *symbolized, const struct block_groups *groups,
				  const uint32_t *numbers, uint32_t count, bool wanted)
{
	cleanup(site_identities_deinit) struct site_identities found = {0};
	auto_free struct site_identity *of = calloc((size_t)count + 1, sizeof(*of));
	struct err *err = of ? NULL : err_no_memory();

	if (!err && (!wanted || groups->by != BLOCK_GROUPS_SITE)) {
		columns_missing(columns, "site_id");
		columns_missing(columns, "shape_id");
		columns_missing(columns, "weak_id");
		return NULL;
	}
	for (uint32_t i = 0; !err && i < count; i++)
		err = site_identities_find(&found, symbolized, stack_of(recording, numbers[i]),
					   &of[i]);
	if (err)
		return err;
	columns_begin(columns, "site_id");
	for (uint32_t i = 0; i < count; i++)
		columns_text(columns, site_identity_text(of[i].site).digits);
	columns_end(columns);
	columns_begin(columns, "shape_id");
	for (uint32_t i = 0; i < count; i++)
		columns_text(columns, site_identity_text(of[i].shape).digits);
	columns_end(columns);
	columns_begin(columns, "weak_id");
	for (uint32_t i = 0; i < count; i++)
		columns_bool(columns, of[i].weak);
	columns_end(columns);
	return NULL;
}

/* key: of the least value, or the largest. */
static void put_ends(struct columns *columns, const char *key, bool largest,
		     const struct block_groups *groups, const uint32_t *numbers, uint32_t count)
{
	if (!block_groups_have_ranges(groups))
		return columns_missing(columns, key);
	columns_begin(columns, key);
	for (uint32_t i = 0; i < count; i++) {
		uint64_t range[2] = {0};
		bool known = block_groups_range(groups, numbers[i], &range[0], &range[1]);

		put_or_null(columns, known, range[largest]);
	}
	columns_end(columns);
}

static struct err *put_names(struct columns *columns, const struct recording *recording,
			     struct symbolized *symbolized, const struct block_groups *groups,
			     const uint32_t *numbers, uint32_t count)
{
	cleanup(buf_deinit) struct buf scratch = BUF_EMPTY;
	struct err *err = NULL;

	columns_begin(columns, "name");
	for (uint32_t i = 0; !err && i < count; i++) {
		const char *name;

		err = name_of(recording, symbolized, groups, numbers[i], &scratch, &name);
		if (!err)
			columns_text(columns, name);
	}
	columns_end(columns);
	return err;
}

struct err *group_json_put_table(struct columns *columns, const struct recording *recording,
				 struct symbolized *symbolized, const struct block_groups *groups,
				 const uint32_t *numbers, uint32_t count, bool identities)
{
	struct err *err;

	columns_object(columns, NULL, block_groups_word(groups->by));
	if (columns->json)
		json_field_text(columns->json, "by", block_groups_word(groups->by));
	err = put_names(columns, recording, symbolized, groups, numbers, count);
	if (!err)
		err = put_codes(columns, recording, symbolized, groups, numbers, count);
	if (err)
		return err;
	put_threads(columns, recording, groups, numbers, count);
	put_stacks(columns, recording, groups, numbers, count);
	err = put_identities(columns, recording, symbolized, groups, numbers, count, identities);
	if (err)
		return err;
	put_ends(columns, "least", false, groups, numbers, count);
	put_ends(columns, "largest", true, groups, numbers, count);
	columns_object_end(columns);
	return NULL;
}
