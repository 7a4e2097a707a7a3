#include "symbols/module_cache.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/hex.h"
#include "hosted/cleanup.h"
#include "hosted/files/cache_folder.h"

char *module_cache_path(bool make)
{
	auto_free char *folder = cache_folder_path(make);
	char *path;

	if (!folder || asprintf(&path, "%s/modules", folder) < 0)
		return NULL;
	if (!make || mkdir(path, 0700) == 0 || errno == EEXIST)
		return path;
	free(path);
	return NULL;
}

bool module_cache_name(const uint8_t *build_id, size_t size, bool debug,
		       char ret[MODULE_CACHE_NAME_MAX])
{
	if (size < 2 || size > ELF_IMAGE_BUILD_ID_MAX)
		return false;

	char *at = stpcpy(ret, MODULE_CACHE_FOLDER "/");

	at = stpcpy(hex_put(at, build_id, 1), "/");
	at = hex_put(at, build_id + 1, size - 1);
	strcpy(at, debug ? ".debug" : "");
	return true;
}
