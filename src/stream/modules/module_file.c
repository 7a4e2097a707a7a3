#include "stream/modules/module_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "hosted/cleanup.h"
#include "symbols/debug_files.h"
#include "symbols/program_file.h"

static struct err *open_debug_file(const struct debug_files *files, const uint8_t *build_id,
				   size_t size, const char *path, struct elf_image **ret)
{
	cleanup(elf_image_close_at) struct elf_image *program = NULL;
	struct err *err = program_file_find(files, path, build_id, size, &program);

	if (err)
		return err;
	return program ? debug_files_for(files, program, ret)
		       : debug_files_by_build_id(files, build_id, size, ret);
}

struct err *module_file_open(enum message_file what, const uint8_t *build_id, size_t build_id_size,
			     const char *path, int *fd, uint64_t *size, bool *found)
{
	cleanup(elf_image_close_at) struct elf_image *image = NULL;
	const struct debug_files files = {.local = true};
	struct stat status;
	struct err *err = NULL;

	if (what == MESSAGE_DEBUG_FILE)
		err = open_debug_file(&files, build_id, build_id_size, path, &image);
	else
		err = program_file_find(&files, path, build_id, build_id_size, &image);
	if (err)
		return err;
	if (!image) {
		*found = false;
		return NULL;
	}

	// The descriptor that was looked into: the name may lead to another file by now.
	auto_close int copy = fcntl(image->fd, F_DUPFD_CLOEXEC, 0);

	if (copy < 0 || fstat(copy, &status) < 0)
		return err_create_errno(errno, "%s", image->path);
	*fd = copy;
	copy = -1;
	*size = (uint64_t)status.st_size;
	*found = true;
	return NULL;
}
