#include "hosted/proc_maps.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

bool proc_path_is_deleted(char *path)
{
	static const char mark[] = " (deleted)";
	size_t length = strlen(path), mark_length = strlen(mark);

	if (length <= mark_length || strcmp(path + length - mark_length, mark) != 0)
		return false;
	path[length - mark_length] = '\0';
	return true;
}

/* Turns each \012 into a newline. The kernel escapes nothing else. */
static void unescape(char *path)
{
	char *to = path;

	for (const char *from = path; *from;) {
		if (strncmp(from, "\\012", 4) == 0) {
			*to++ = '\n';
			from += 4;
		} else {
			*to++ = *from++;
		}
	}
	*to = '\0';
}

bool proc_mapping_read(char *line, struct proc_mapping *ret)
{
	struct proc_mapping mapping = {0};
	char permissions[5];
	unsigned int high, low;
	int length = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 "%n",
		   &mapping.start, &mapping.end, permissions, &mapping.offset, &high, &low,
		   &mapping.inode, &length) < 7)
		return false;
	if (mapping.start >= mapping.end || strlen(permissions) != 4)
		return false;
	mapping.executable = permissions[2] == 'x';
	mapping.device = makedev(high, low);
	mapping.path = line + length + strspn(line + length, " ");
	mapping.path[strcspn(mapping.path, "\n")] = '\0';
	mapping.deleted = proc_path_is_deleted(mapping.path);
	unescape(mapping.path);
	*ret = mapping;
	return true;
}
