#include "analysis/names/script_files.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "hosted/cleanup.h"
#include "hosted/file_name.h"
#include "hosted/intern.h"
#include "hosted/map.h"

bool script_files_is_package(const char *path)
{
	return strncmp(file_name(path), "__init__.", 9) == 0;
}

const char *script_files_name(const char *path, unsigned parts)
{
	const char *name = path + strlen(path);

	while (name > path && (name[-1] != '/' || --parts))
		name--;
	return name;
}

struct naming_files {
	const struct recorded_module *modules;
	uint32_t count;
	uint8_t *parts;
	bool *shared; /* of each module: another file has its name */
	struct intern names;
};

static void naming_files_deinit(struct naming_files *naming)
{
	free(naming->parts);
	free(naming->shared);
	intern_deinit(&naming->names);
}

/* Finds which names two files have. */
static struct err *find_shared(struct naming_files *naming)
{
	cleanup(map_deinit) struct map first = {0};

	memset(naming->shared, 0, naming->count * sizeof(*naming->shared));
	for (uint32_t i = 0; i < naming->count; i++) {
		const char *path = naming->modules[i].path, *name;
		uint64_t *place;

		if (!naming->parts[i])
			continue;
		name = intern_text(&naming->names, script_files_name(path, naming->parts[i]));
		place = name ? map_put(&first, (uintptr_t)name) : NULL;
		if (!place)
			return err_no_memory();
		if (*place == MAP_NONE)
			*place = i;
		else if (strcmp(naming->modules[*place].path, path) != 0)
			naming->shared[i] = naming->shared[*place] = true;
	}
	return NULL;
}

/* Gives one more folder to the names that two files have. false: all are told apart. */
static bool lengthen(struct naming_files *naming)
{
	bool any = false;

	for (uint32_t i = 0; i < naming->count; i++) {
		const char *path = naming->modules[i].path;

		if (!naming->shared[i] || naming->parts[i] == UINT8_MAX ||
		    script_files_name(path, naming->parts[i]) == path)
			continue;
		naming->parts[i]++;
		any = true;
	}
	return any;
}

struct err *script_files_parts(const struct recording *recording, uint8_t **ret)
{
	cleanup(naming_files_deinit) struct naming_files naming = {0};
	struct err *err;

	naming.modules = recording_modules(recording, &naming.count);
	naming.parts = calloc((size_t)naming.count + 1, sizeof(*naming.parts));
	naming.shared = calloc((size_t)naming.count + 1, sizeof(*naming.shared));
	if (!naming.parts || !naming.shared)
		return err_no_memory();
	for (uint32_t i = 0; i < naming.count; i++)
		if (recorded_module_is_script(&naming.modules[i]))
			naming.parts[i] = script_files_is_package(naming.modules[i].path) ? 2 : 1;
	do
		err = find_shared(&naming);
	while (!err && lengthen(&naming));
	if (!err)
		*ret = steal(&naming.parts);
	return err;
}

const char *script_files_language(const struct recording *recording)
{
	static const char *const languages[][2] = {
		{"python", "Python"}, {"php", "PHP"}, {"ruby", "Ruby"}};
	const char *name = file_name(recording_facts(recording)->program);

	for (size_t i = 0; i < ARRAY_COUNT(languages); i++) {
		size_t size = strlen(languages[i][0]);

		// python3.11, php8.2
		if (strncmp(name, languages[i][0], size) == 0 &&
		    name[size + strspn(name + size, ".0123456789")] == '\0')
			return languages[i][1];
	}
	return NULL;
}
