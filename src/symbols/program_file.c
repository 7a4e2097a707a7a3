#include "symbols/program_file.h"

#include <string.h>

#include "hosted/cleanup.h"
#include "symbols/symbol_log.h"

static bool is_vdso(const char *path)
{
	return strstr(path, "[vdso]") || !strncmp(path, "linux-vdso", 10) ||
	       !strncmp(path, "linux-gate", 10);
}

bool program_file_exists(const char *path)
{
	return path[0] && path[0] != '[' && !is_vdso(path);
}

struct err *program_file_open(const char *path, const uint8_t *build_id, size_t build_id_size,
			      uint32_t machine, struct elf_image **ret)
{
	static const char deleted[] = " (deleted)"; // as /proc/PID/maps appends
	cleanup(elf_image_close_at) struct elf_image *image = NULL;
	size_t length = strlen(path);

	if (is_vdso(path))
		return err_create("the vdso is part of the kernel: it has no file");
	if (!program_file_exists(path))
		return err_create("no file");
	if (length >= sizeof(deleted) && !strcmp(path + length - strlen(deleted), deleted)) {
		auto_free char *plain = strndup(path, length - strlen(deleted));

		return plain ? program_file_open(plain, build_id, build_id_size, machine, ret)
			     : err_no_memory();
	}

	struct err *err = elf_image_open(path, &image);

	if (err)
		return err;
	if (!elf_image_is_loadable(image))
		return err_create("%s is neither a program nor a shared library", path);
	if (build_id_size)
		err = elf_image_check_build_id(image, build_id, build_id_size);
	if (err) {
		symbol_log_refusal(err);
		return err_create("file changed since the recording");
	}
	if (!build_id_size)
		err = elf_image_check_machine(image, machine);
	if (err)
		return err;
	*ret = steal(&image);
	return NULL;
}

struct err *program_file_find(const struct debug_files *files, const char *path,
			      const uint8_t *build_id, size_t build_id_size, struct elf_image **ret)
{
	struct elf_image *image = NULL;
	struct err *err = NULL;

	if (build_id_size)
		err = program_file_open(path, build_id, build_id_size, 0, &image);
	if (err_is_shortage(err))
		return err;
	err_destroy(err);
	if (image) {
		*ret = image;
		return NULL;
	}
	return debug_files_program(files, path, build_id, build_id_size, 0, ret);
}
