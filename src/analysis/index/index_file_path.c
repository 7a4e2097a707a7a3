#include <stdio.h>
#include <stdlib.h>

#include "analysis/index/index_file.h"
#include "analysis/recording_data.h"
#include "hosted/cleanup.h"
#include "hosted/files/cache_folder.h"

char *index_file_beside(const struct recording *recording)
{
	// The path of the file itself, not of a symbolic link to it.
	auto_free char *path = realpath(recording->facts.path, NULL);
	char *ret;

	return path && asprintf(&ret, "%s.index", path) >= 0 ? ret : NULL;
}

char *index_file_cached(const struct recording *recording, bool make)
{
	auto_free char *folder = cache_folder_path(make);
	char *ret;

	if (!folder)
		return NULL;
	return asprintf(&ret, "%s/%s-%016llx.index", folder, recording->facts.id,
			(unsigned long long)recording->tables->fingerprint) >= 0
		       ? ret
		       : NULL;
}
