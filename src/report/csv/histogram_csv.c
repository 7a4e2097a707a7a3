#include "report/csv/histogram_csv.h"

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
