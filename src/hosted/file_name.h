/* The name of a file in a path. */
#ifndef MALLOW_HOSTED_FILE_NAME_H
#define MALLOW_HOSTED_FILE_NAME_H

#include <string.h>

/* The part behind the last '/' of path; path itself if nothing is behind it. */
static inline const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

#endif
