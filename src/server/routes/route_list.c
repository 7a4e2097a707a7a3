/* /list: the recordings. */
#include <string.h>

#include "hosted/cleanup.h"
#include "report/words/machine_name.h"
#include "server/answers/rest_json.h"
#include "server/routes/route.h"

static uint32_t deepest(const struct recording *recording)
{
	uint32_t count, depth = 0;
	const struct site *sites = recording_sites(recording, &count);
	const struct stack_node *stacks = recording_stacks(recording, NULL);

	for (uint32_t i = 0; i < count; i++)
		if (sites[i].stack != RECORDING_NONE && stacks[sites[i].stack].depth > depth)
			depth = stacks[sites[i].stack].depth;
	return depth;
}

/*
 * Writes the arguments with blanks between them. One that contains blanks, or is empty, is quoted.
 */
static struct err *put_command(struct json_writer *json, const char *const *arguments)
{
	cleanup(buf_deinit) struct buf buf = BUF_EMPTY;

	for (size_t i = 0; arguments && arguments[i]; i++) {
		bool quoted = !*arguments[i] || strpbrk(arguments[i], " \t\n\"");

		if (i)
			buf_char(&buf, ' ');
		if (quoted)
			buf_char(&buf, '"');
		buf_text(&buf, arguments[i]);
		if (quoted)
			buf_char(&buf, '"');
	}
	json_field_text(json, "cmdline", buf_string(&buf));
	return buf_finish(&buf);
}

/* Writes what bytehound's clients do not know. */
static void put_more(struct json_writer *json, const struct recording *recording)
{
	const struct recording_facts *facts = recording_facts(recording);
	const struct recording_summary *sum = recording_summary(recording);

	json_field_u64(json, "pid", facts->pid);
	json_field_text(json, "parent", *facts->parent_id ? facts->parent_id : NULL);
	json_field_u64(json, "parent_pid", facts->parent_pid);
	json_field_text(json, "path", facts->path);
	json_field_text(json, "kind",
			facts->live        ? "live"
			: facts->aggregate ? "sums"
					   : "recording");
	json_field_u64(json, "peak", sum->peak_bytes);
	json_field_u64(json, "total", sum->total_bytes);
	json_field_u64(json, "calls", sum->calls);
	json_field_bool(json, "finished", facts->finished);
}

static struct err *summarize_item(const struct catalog_item *item,
				  const struct recording *recording, char **ret)
{
	const struct recording_facts *facts = recording_facts(recording);
	const struct recording_summary *sum = recording_summary(recording);
	cleanup(buf_deinit) struct buf buf = BUF_EMPTY;
	struct json_writer json;
	uint32_t sites;
	struct err *err;

	json_init(&json, &buf, false);
	recording_sites(recording, &sites);
	json_object(&json);
	json_field_text(&json, "id", item->id);
	json_field_text(&json, "executable", facts->program);
	err = put_command(&json, facts->arguments);
	json_field_text(&json, "architecture", machine_name(facts));
	json_field_u64(&json, "final_allocated", sum->leaked_bytes);
	json_field_u64(&json, "final_allocated_count", sum->leaked_blocks);
	rest_json_field_time(&json, "runtime", facts->duration_ns);
	json_field_u64(&json, "unique_backtrace_count", sites);
	json_field_u64(&json, "maximum_backtrace_depth", deepest(recording));
	rest_json_field_time(&json, "timestamp", facts->start_realtime_ns);
	put_more(&json, recording);
	json_end(&json);
	*ret = err ? NULL : buf_take(&buf);
	return err || *ret ? err : err_no_memory();
}

struct err *route_list(struct request *request, struct reply *reply)
{
	cleanup(buf_deinit) struct buf buf = BUF_EMPTY;
	struct err *err;

	buf_char(&buf, '[');
	err = catalog_summaries(request->catalog, request->texts[PARAMETER_LIST_ID], summarize_item,
				&buf);
	buf_char(&buf, ']');
	return err ? err : reply_whole(reply, &buf);
}
