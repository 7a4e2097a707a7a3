#include "report/export/prometheus.h"

#include <inttypes.h>

#include "base/compiler.h"
#include "hosted/cleanup.h"
#include "report/views/breakdown_view.h"

/* Begins a metric. kind: gauge or counter. */
static void put_head(struct buf *buf, const char *name, const char *kind, const char *help)
{
	buf_printf(buf, "# HELP mallow_%s %s\n# TYPE mallow_%s %s\n", name, help, name, kind);
}

static void put_metric(struct buf *buf, const char *name, const char *kind, const char *help,
		       uint64_t value)
{
	put_head(buf, name, kind, help);
	buf_printf(buf, "mallow_%s %" PRIu64 "\n", name, value);
}

/* Writes the value of a label. What is hidden in names is \xNN or a blank, as in reports. */
static void put_label(struct buf *buf, const char *text)
{
	cleanup(buf_deinit) struct buf shown = BUF_EMPTY;

	buf_shown(&shown, text, strlen(text));
	for (size_t i = 0; i < shown.size; i++) {
		if (shown.data[i] == '"' || shown.data[i] == '\\')
			buf_char(buf, '\\');
		buf_char(buf, shown.data[i]);
	}
	if (shown.failure)
		buf->failure = shown.failure;
}

/* One metric of all functions. value: of a row. */
static void put_functions(struct buf *buf, const struct breakdown_view *view, const char *name,
			  const char *kind, const char *help,
			  uint64_t (*value)(const struct site *row))
{
	uint32_t named = breakdown_view_rows(view);
	uint64_t others = 0;

	put_head(buf, name, kind, help);
	for (uint32_t i = 0; i < view->count; i++) {
		uint64_t number = value(&view->rows[i].own);

		if (i >= named) {
			others += number;
			continue;
		}
		if (!number)
			continue;
		buf_printf(buf, "mallow_%s{function=\"", name);
		put_label(buf, view->rows[i].name ? view->rows[i].name : "(no name)");
		buf_printf(buf, "\"} %" PRIu64 "\n", number);
	}
	if (others)
		buf_printf(buf, "mallow_%s{function=\"(others)\"} %" PRIu64 "\n", name, others);
}

static uint64_t live_bytes(const struct site *row)
{
	return row->leaked_bytes;
}

static uint64_t live_blocks(const struct site *row)
{
	return row->leaked_blocks;
}

struct err *prometheus_write(struct buf *buf, const struct recording *recording,
			     struct symbolized *symbolized, const struct prometheus_facts *facts)
{
	const struct report_subject subject = {.recording = recording, .symbolized = symbolized};
	const struct recording_summary *sum = recording_summary(recording);
	cleanup(breakdown_view_deinit) struct breakdown_view view = {
		.by = BLOCK_GROUPS_FUNCTION, .metric = METRIC_LEAKED, .top = PROMETHEUS_FUNCTIONS};
	struct err *err = breakdown_view_make(&view, &subject);

	if (err)
		return err;
	put_metric(buf, "live_bytes", "gauge", "Bytes of heap blocks that are not freed.",
		   sum->leaked_bytes);
	put_metric(buf, "live_blocks", "gauge", "Heap blocks that are not freed.",
		   sum->leaked_blocks);
	put_metric(buf, "allocated_bytes_total", "counter", "Bytes of all allocations so far.",
		   facts->ended_bytes + sum->total_bytes);
	put_metric(buf, "allocations_total", "counter", "Allocations so far.",
		   facts->ended_calls + sum->calls);
	put_metric(buf, "lost_events_total", "counter", "Events that are missing in these numbers.",
		   recording_facts(recording)->lost);
	put_metric(buf, "sample_bytes", "gauge",
		   "Mean bytes between samples, of which the other numbers are estimates; 0: all "
		   "is counted.",
		   recording_facts(recording)->sample_mean);
	put_metric(buf, "processes", "gauge", "Processes that these numbers are of.",
		   facts->processes);
	if (facts->resident)
		put_metric(buf, "resident_bytes", "gauge",
			   "Resident memory of these processes, as the kernel counts it.",
			   facts->resident);
	put_functions(buf, &view, "function_live_bytes", "gauge",
		      "Bytes that are not freed, by the function that asked for them.", live_bytes);
	put_functions(buf, &view, "function_live_blocks", "gauge",
		      "Blocks that are not freed, by the function that asked for them.",
		      live_blocks);
	return NULL;
}
