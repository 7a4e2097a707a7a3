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

/* Writes what a site's own code is called. */
static struct err *put_site_name(struct json_writer *json, struct symbolized *symbolized,
				 uint32_t stack)
{
	cleanup(buf_deinit) struct buf name = BUF_EMPTY;
	struct own_code code;
	struct err *err;

	err = own_code_of_stack(symbolized, stack, &code);
	if (err)
		return err;
	breakdown_put_name(&name, BREAKDOWN_FUNCTION, code.frame);
	if (!buf_string(&name))
		return buf_finish(&name);
	json_text(json, name.data);
	return NULL;
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
	uint32_t count;

	if (group == RECORDING_NONE)
		json_null(json);
	else if (groups->by == BLOCK_GROUPS_FATE)
		json_text(json, fates[group]);
	else if (groups->by == BLOCK_GROUPS_THREAD)
		json_text(json, recording_threads(recording, &count)[group].name);
	else if (groups->by == BLOCK_GROUPS_SITE)
		return put_site_name(json, symbolized, stack_of(recording, group));
	else
		json_text(json, groups->names[group]);
	return NULL;
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
