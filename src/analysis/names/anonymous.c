#include "analysis/names/anonymous.h"

#include <string.h>

#include "analysis/recording_data.h"
#include "hosted/file_name.h"

/* A path begins at the text's begin, or behind a character that no name of a function ends with. */
static bool begins_path(const char *text, const char *at)
{
	return *at == '/' && (at == text || strchr(" \t:(@\"'<[,=", at[-1]));
}

void anonymous_put(struct buf *buf, const char *text)
{
	for (const char *at = text; *at;) {
		size_t length = strcspn(at, " \t()@\"'<>[],");
		const char *name = at;

		if (!begins_path(text, at)) {
			buf_char(buf, *at++);
			continue;
		}
		for (size_t i = 0; i < length; i++)
			if (at[i] == '/' && at[i + 1] && i + 1 < length)
				name = at + i + 1;
		buf_put(buf, name, length - (size_t)(name - at));
		at += length;
	}
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
	for (size_t i = 0; i < recording->modules.modules.count; i++) {
		struct recorded_module *module = &recording->modules.modules.items[i];

		module->path = file_name(module->path);
	}
}
