/* A histogram for programs: JSON and CSV. */
#include "report/histogram_view.h"

static void put_sum(struct json_writer *json, const struct histogram_sum *sum)
{
	json_field_u64(json, "calls", sum->calls);
	json_field_u64(json, "bytes", sum->bytes);
}

static void put_apart(struct json_writer *json, const char *name, const struct histogram_sum *sum)
{
	json_key(json, name);
	json_object(json);
	put_sum(json, sum);
	json_end(json);
}

void histogram_json_write(struct json_writer *json, const struct histogram *histogram)
{
	bool sizes = histogram->of == HISTOGRAM_SIZE;

	json_field_text(json, "histogram", sizes ? "size" : "lifetime");
	json_key(json, "classes");
	json_array(json);
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

const char *histogram_csv_columns(enum histogram_of of)
{
	return of == HISTOGRAM_SIZE ? "class size_min size_max calls bytes"
				    : "class lifetime_min_ns lifetime_max_ns calls bytes";
}

static void csv_apart(struct csv_writer *csv, const char *path, const char *name,
		      const struct histogram_sum *sum)
{
	if (!sum->calls)
		return;
	if (path)
		csv_text(csv, path);
	csv_text(csv, name);
	csv_empty(csv);
	csv_empty(csv);
	csv_u64(csv, sum->calls);
	csv_u64(csv, sum->bytes);
	csv_end_row(csv);
}

void histogram_csv_write(struct csv_writer *csv, const struct histogram *histogram,
			 const char *path)
{
	for (size_t i = histogram->first; i < histogram->end; i++) {
		if (path)
			csv_text(csv, path);
		csv_text(csv, histogram->of == HISTOGRAM_SIZE ? "size" : "lifetime");
		csv_u64(csv, scale_lowest(&histogram->scale, i));
		csv_u64(csv, histogram->scale.highest[i]);
		csv_u64(csv, histogram->classes[i].calls);
		csv_u64(csv, histogram->classes[i].bytes);
		csv_end_row(csv);
	}
	csv_apart(csv, path, "culled", &histogram->culled);
	csv_apart(csv, path, "leaked", &histogram->leaked);
}
