#include "analysis/names/anonymous.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "analysis/recording_data.h"
#include "hosted/file_name.h"
#include "trace/checksum.h"

/* The next '/' that is none of the function operator/; NULL: there is none. */
static const char *next_slash(const char *text, const char *at)
{
	while ((at = strchr(at, '/')) && at - text >= 8 && memcmp(at - 8, "operator", 8) == 0)
		at++;
	return at;
}

/* Where the path with that '/' begins: there, or with the first part of a relative one. */
static const char *begin_of(const char *text, const char *slash)
{
	while (slash > text && (isalnum((unsigned char)slash[-1]) || strchr("_.-", slash[-1])))
		slash--;
	return slash;
}

void anonymous_put(struct buf *buf, const char *text)
{
	const char *first = next_slash(text, text), *last = first;

	if (!first) {
		buf_text(buf, text);
		return;
	}
	for (const char *at = first; at; at = next_slash(text, at + 1))
		if (at[1])
			last = at;
	buf_put(buf, text, (size_t)(begin_of(text, first) - text));
	buf_text(buf, last + 1);
}

void anonymous_put_function(struct buf *buf, const char *name, enum anonymity anonymity)
{
	if (anonymity == ANONYMITY_FULL)
		buf_printf(buf, "f_%016" PRIx64, XXH64(name, strlen(name), 0));
	else if (anonymity == ANONYMITY_PATHS)
		anonymous_put(buf, name);
	else
		buf_text(buf, name);
}

bool anonymous_keeps(uint64_t field)
{
	return field == TRACE_PROCESS_EXECUTABLE || field == TRACE_PROCESS_AGENT;
}

void recording_anonymize(struct recording *recording)
{
	static const char *const nothing[] = {NULL};
	struct recording_facts *facts = &recording->facts;

	facts->path = file_name(facts->path);
	facts->program = file_name(facts->program);
	facts->arguments = nothing;
	facts->environment = NULL;
	facts->directory = facts->host = facts->kernel = "";
	for (size_t i = 0; i < recording->tables->modules.modules.count; i++) {
		struct recorded_module *module = &recording->tables->modules.modules.items[i];

		module->path = file_name(module->path);
	}
}
