#include "report/json/pools_json.h"

#include "hosted/cleanup.h"
#include "report/json/json_report.h"
#include "report/views/site_order.h"

void pools_json_name(struct json_writer *json, const struct recorded_pool *pool)
{
	json_field_text(json, "name", *pool->name ? pool->name : NULL);
	json_field_hex(json, "address", pool->address);
	json_field_u64(json, "addresses", pool->places);
}

static struct err *put_pool(struct json_writer *json, struct json_stacks *stacks,
			    const struct recorded_pool *pool, enum metric metric, uint32_t top)
{
	struct err *err;

	json_object(json);
	pools_json_name(json, pool);
	json_report_sums(json, &pool->sum);
	json_field_u64(json, "frees", pool->frees);
	json_field_u64(json, "resets", pool->resets);
	json_field_u64(json, "implicit_frees", pool->implicit_frees);
	json_field_u64(json, "wrong_frees", pool->wrong_frees);
	err = json_report_sites(json, stacks, pool->sites, pool->site_count, metric, top);
	if (!err)
		json_end(json);
	return err;
}

struct err *pools_json_write(struct json_writer *json, struct json_stacks *stacks,
			     const struct recording *recording, enum metric metric, uint32_t top)
{
	uint32_t pool_count, count;
	const struct recorded_pool *pools = recording_pools(recording, &pool_count);
	auto_free uint32_t *order = NULL;
	struct err *err = site_order_pools(recording, metric, SITE_ORDER_ALL, &order, &count);

	if (err)
		return err;
	json_object(json);
	json_report_identity(json, recording_facts(recording));
	json_field_text(json, "sorted_by", metric_info(metric)->name);
	json_field_u64(json, "pool_count", pool_count);
	json_field_object(json, "all");
	json_report_sums(json, recording_pool_sum(recording));
	json_end(json);
	json_field_array(json, "pools");
	for (uint32_t i = 0; i < count && (!top || i < top) && !err; i++)
		err = put_pool(json, stacks, &pools[order[i]], metric, top);
	if (err)
		return err;
	json_end(json);
	err = json_stacks_finish(stacks, json);
	if (!err)
		json_end(json);
	return err;
}
