#include "report/json/core_json.h"

#include "hosted/cleanup.h"
#include "report/json/json_stacks.h"
#include "report/views/core_view.h"

static struct err *put_site(struct json_writer *json, struct json_stacks *stacks,
			    const struct core_view *view, uint32_t index)
{
	uint32_t count;
	const struct site *site = &recording_sites(view->recording, &count)[index];
	struct err *err;

	json_object(json);
	json_field_u64(json, "live_bytes", site->leaked_bytes);
	json_field_u64(json, "live_blocks", site->leaked_blocks);
	json_field_array(json, "sizes");
	for (uint32_t i = view->first[index]; i < view->first[index + 1]; i++)
		json_u64(json, view->sizes[i]);
	json_end(json);
	err = json_stacks_field_site(stacks, json, site->stack);
	if (!err)
		json_end(json);
	return err;
}

struct err *core_json_write(struct json_writer *json, const struct core_view *view)
{
	const struct recording_facts *facts = recording_facts(view->recording);
	const struct recording_summary *sum = recording_summary(view->recording);
	const struct coredump_facts *core = facts->core;
	cleanup(json_stacks_deinit) struct json_stacks stacks = {0};
	struct err *err = NULL;

	json_stacks_init(&stacks, view->recording, view->symbolized, true);
	json_object(json);
	json_field_text(json, "path", view->options.path);
	json_field_text(json, "program", *facts->program ? facts->program : NULL);
	json_field_u64(json, "pid", facts->pid);
	json_field_text(json, "id", facts->id);
	json_field_text(json, "signal", core_facts_signal(facts));
	json_field_u64(json, "sample_mean", facts->sample_mean);
	json_field_u64(json, "live_bytes", sum->live_bytes);
	json_field_u64(json, "live_blocks", sum->leaked_blocks);
	json_field_u64(json, "missing_bytes", core ? core->missing : 0);
	json_field_u64(json, "site_count", view->live);
	json_field_array(json, "sites");
	for (uint32_t i = 0; !err && i < view->shown; i++)
		err = put_site(json, &stacks, view, view->order[i]);
	if (err)
		return err;
	json_end(json);
	json_end(json);
	return NULL;
}
