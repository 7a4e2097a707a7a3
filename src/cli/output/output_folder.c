#include "cli/output/output_folder.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hosted/cleanup.h"

CLEANUP_DEFINE(DIR *, closedir);

/* Whether it is one of the files, or was to become one when it was left behind: NAME.XXXXXX. */
static bool is_own(const char *entry, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t size = strlen(names[i]);

		if (strncmp(entry, names[i], size) == 0 && (!entry[size] || entry[size] == '.'))
			return true;
	}
	return strcmp(entry, ".") == 0 || strcmp(entry, "..") == 0;
}

static struct err *check_folder(const char *path, const char *const *names, size_t count)
{
	cleanup(closedir_at) DIR *folder = opendir(path);
	const struct dirent *entry;

	if (!folder && errno == ENOTDIR)
		return err_create("'%s' is a file: a folder is wanted", path);
	if (!folder)
		return err_create_errno(errno, "cannot open '%s'", path);
	while ((entry = readdir(folder)))
		if (!is_own(entry->d_name, names, count))
			return err_create("'%s' has other files, such as '%s': an empty folder, or "
					  "one of an earlier export, is wanted",
					  path, entry->d_name);
	return NULL;
}

struct err *output_folder_open(const char *path, const char *const *names, size_t count,
			       struct output_folder *ret)
{
	struct err *err = NULL;

	assert(count <= OUTPUT_FOLDER_FILES);
	*ret = (struct output_folder){.path = path, .made = mkdir(path, 0777) == 0};
	if (!ret->made)
		err = errno == EEXIST ? check_folder(path, names, count)
				      : err_create_errno(errno, "cannot make '%s'", path);
	while (!err && ret->count < count) {
		auto_free char *file = NULL;

		if (asprintf(&file, "%s/%s", path, names[ret->count]) < 0) {
			file = NULL;
			return err_no_memory();
		}
		err = output_open(file, &ret->files[ret->count]);
		if (err)
			break;
		ret->files[ret->count++].buf.shown = false;
	}
	return err;
}

struct err *output_folder_close(struct output_folder *folder, struct err *err)
{
	// Before the first one gets its name, all are whole.
	for (size_t i = 0; !err && i < folder->count; i++)
		err = buf_finish(&folder->files[i].buf);
	for (size_t i = 0; i < folder->count; i++)
		err = output_close(&folder->files[i], err);
	if (err && folder->made)
		rmdir(folder->path);
	return err;
}
