#include "report/json/histogram_json.h"

static void put_sum(struct json_writer *json, const struct histogram_sum *sum)
{
	json_field_u64(json, "calls", sum->calls);
	json_field_u64(json, "bytes", sum->bytes);
}

static void put_apart(struct json_writer *json, const char *name, const struct histogram_sum *sum)
{
	json_field_object(json, name);
	put_sum(json, sum);
	json_end(json);
}

void histogram_json_write(struct json_writer *json, const struct histogram *histogram)
{
	bool sizes = histogram->of == HISTOGRAM_SIZE;

	json_field_text(json, "histogram", sizes ? "size" : "lifetime");
	json_field_array(json, "classes");
	for (size_t i = histogram->first; i < histogram->end; i++) {
		json_object(json);
		json_field_u64(json, sizes ? "size_min" : "lifetime_min_ns",
			       scale_lowest(&histogram->scale, i));
		json_field_u64(json, sizes ? "size_max" : "lifetime_max_ns",
			       histogram->scale.highest[i]);
		put_sum(json, &histogram->classes[i]);
		json_end(json);
	}
	json_end(json);
	if (!sizes)
		put_apart(json, "leaked", &histogram->leaked);
	if (histogram->culled.calls)
		put_apart(json, "culled", &histogram->culled);
}
