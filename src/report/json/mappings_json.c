#include "report/json/mappings_json.h"

#include "hosted/cleanup.h"
#include "report/json/json_report.h"
#include "report/views/site_order.h"

void mappings_json_sum(struct json_writer *json, const struct map_sum *sum)
{
	json_field_u64(json, "peak_bytes", sum->peak_bytes);
	json_field_u64(json, "left_bytes", sum->left_bytes);
	json_field_u64(json, "left_mappings", sum->left);
	json_field_u64(json, "total_bytes", sum->bytes);
	json_field_u64(json, "mappings", sum->mappings);
}

static struct err *put_site(struct json_writer *json, struct json_stacks *stacks,
			    const struct site *site, enum map_kind kind)
{
	struct err *err;

	json_object(json);
	json_field_text(json, "kind", map_kind_name(kind));
	json_field_u64(json, "peak_bytes", site->peak_bytes);
	json_field_u64(json, "left_bytes", site->leaked_bytes);
	json_field_u64(json, "left_mappings", site->leaked_blocks);
	json_field_u64(json, "total_bytes", site->total_bytes);
	json_field_u64(json, "mappings", site->calls);
	json_key(json, "stack");
	err = json_stacks_put(stacks, json, site->stack);
	if (!err)
		json_end(json);
	return err;
}

struct err *mappings_json_write(struct json_writer *json, struct json_stacks *stacks,
				const struct recording *recording, const struct map_sites *sites,
				enum metric metric, uint32_t top)
{
	auto_free uint32_t *order = NULL;
	uint32_t count;
	struct err *err = site_order_create(sites->sites, sites->count, metric, SITE_ORDER_ALL,
					    &order, &count);

	if (err)
		return err;
	json_object(json);
	json_report_identity(json, recording_facts(recording));
	json_field_text(json, "sorted_by", metric_info(metric)->name);
	json_field_object(json, "kinds");
	for (int i = 0; i < MAP_KINDS; i++) {
		if (!sites->of[i].mappings)
			continue;
		json_field_object(json, map_kind_name((enum map_kind)i));
		mappings_json_sum(json, &sites->of[i]);
		json_end(json);
	}
	json_end(json);
	json_field_u64(json, "site_count", sites->count);
	json_field_array(json, "mapping_sites");
	for (uint32_t i = 0; i < count && (!top || i < top) && !err; i++)
		err = put_site(json, stacks, &sites->sites[order[i]], sites->kinds[order[i]]);
	if (err)
		return err;
	json_end(json);
	err = json_stacks_finish(stacks, json);
	if (!err)
		json_end(json);
	return err;
}
