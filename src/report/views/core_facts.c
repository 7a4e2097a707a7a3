#include "report/views/core_facts.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "report/words/format.h"

const char *core_facts_signal(const struct recording_facts *facts)
{
	static __thread char text[24];
	const char *name;

	if (!facts->core || !facts->core->signal)
		return NULL;
	name = sigabbrev_np((int)facts->core->signal);
	if (name)
		snprintf(text, sizeof(text), "SIG%s", name);
	else
		snprintf(text, sizeof(text), "signal %" PRIu32, facts->core->signal);
	return text;
}

void core_facts_json(struct json_writer *json, const struct recording_facts *facts)
{
	const struct coredump_facts *core = facts->core;

	if (!core) {
		json_null(json);
		return;
	}
	json_object(json);
	json_field_text(json, "signal", core_facts_signal(facts));
	json_field_bool(json, "raw", core->raw);
	json_field_u64(json, "pid", core->pid);
	json_field_u64(json, "owner", core->owner);
	json_field_u64(json, "missing_bytes", core->missing);
	json_field_u64(json, "cut_bytes", core->cut);
	json_end(json);
}

const char *core_facts_end(const struct recording_facts *facts)
{
	static __thread char text[40];
	const char *signal = core_facts_signal(facts);

	if (facts->core->raw)
		return "as its memory was dumped";
	if (!signal)
		return "still running when its core was dumped";
	snprintf(text, sizeof(text), "ended by %s", signal);
	return text;
}

void core_facts_put(struct buf *buf, const struct recording_facts *facts)
{
	const struct coredump_facts *core = facts->core;

	if (!core)
		return;
	if (core->pid && core->owner != core->pid)
		buf_printf(buf,
			   "  the dumped process, %" PRIu32
			   ", had no table of its own: this is the "
			   "one of process %" PRIu32 " in its memory\n",
			   core->pid, core->owner);
	if (core->missing)
		buf_printf(buf,
			   "  %s of its table are missing in the dump: there may be more blocks\n",
			   format_bytes(core->missing, false).text);
	if (core->cut)
		buf_printf(buf, "  the dump is cut short by %s\n",
			   format_bytes(core->cut, false).text);
}
