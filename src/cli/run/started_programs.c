#include "cli/run/started_programs.h"

#include <stdlib.h>
#include <string.h>

#include "hosted/cleanup.h"
#include "report/words/unseen.h"

#define PROGRAMS_MOST 100

bool started_programs_add(struct started_programs *programs, const char *text)
{
	char *copy;

	for (size_t i = 0; i < programs->texts.count; i++)
		if (strcmp(programs->texts.items[i], text) == 0)
			return false;
	if (!strchr(text, '\n') || programs->texts.count >= PROGRAMS_MOST)
		return false;
	copy = strdup(text);
	if (copy && vec_push(&programs->texts, copy))
		return true;
	free(copy);
	return false;
}

void started_programs_deinit(struct started_programs *programs)
{
	for (size_t i = 0; i < programs->texts.count; i++)
		free(programs->texts.items[i]);
	vec_deinit(&programs->texts);
}

struct err *started_program_put(struct buf *buf, const char *text)
{
	auto_free char *why = strndup(text, strcspn(text, "\n"));
	const struct unseen unseen = {
		.kind = TRACE_UNSEEN_STARTED,
		.object = text + strcspn(text, "\n") + 1,
		.name = why,
	};

	if (!why)
		return err_no_memory();
	unseen_put(buf, NULL, &unseen);
	return buf_string(buf) ? NULL : err_no_memory();
}
