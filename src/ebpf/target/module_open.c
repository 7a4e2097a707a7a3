#include "ebpf/target/module_open.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "ebpf/target/load_segments.h"
#include "hosted/cleanup.h"
#include "symbols/elf_image.h"

/* The vdso has two to four pages. */
#define VDSO_MAX (1u << 20)

void module_close(struct target_module *module)
{
	if (module->fd >= 0)
		close(module->fd);
	free(module->path);
	free(module->open_path);
	free(module->memory);
	*module = (struct target_module){.fd = -1};
}

/*
 * Opens path if it has that inode. The device is not compared: btrfs tells stat() another one than
 * /proc/PID/maps has. Between two files of the same path that are both not deleted, the inode
 * decides.
 */
static int open_if(const char *path, uint64_t inode)
{
	struct stat status;
	int fd = -1;
	struct err *err = elf_image_open_file(path, &fd);

	err_destroy(err);
	if (err || (fstat(fd, &status) == 0 && status.st_ino == inode))
		return fd;
	close(fd);
	return -1;
}

/* Opens the file by its path: as we see it, then as the process sees it. -1: it is another one. */
static int open_by_path(const struct target *target, const struct proc_mapping *mapping)
{
	char path[PATH_MAX + 64];
	int fd;

	if (mapping->deleted || mapping->path[0] != '/')
		return -1;
	fd = open_if(mapping->path, mapping->inode);
	if (fd >= 0)
		return fd;
	snprintf(path, sizeof(path), "/proc/self/fd/%d/root%s", target->proc, mapping->path);
	return open_if(path, mapping->inode);
}

static struct err *refusal(const struct target *target, const struct proc_mapping *mapping,
			   int number)
{
	const char *needs = number == EPERM ? "CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN"
					    : "CAP_SYS_PTRACE and permission to read the file";

	return err_create("cannot open %s%s, whose code process %d has mapped: that needs %s; run "
			  "mallow as root",
			  mapping->path, mapping->deleted ? " (deleted)" : "", (int)target->pid,
			  needs);
}

/* Opens the mapping's own file. *ret stays -1 if *answer is not MODULE_IS. */
static struct err *open_file(const struct target *target, const struct proc_mapping *mapping,
			     enum module_answer *answer, int *ret, struct err **why)
{
	char path[96];
	struct err *err;

	snprintf(path, sizeof(path), "/proc/self/fd/%d/map_files/%" PRIx64 "-%" PRIx64,
		 target->proc, mapping->start, mapping->end);
	err = elf_image_open_file(path, ret);
	*answer = MODULE_IS;
	if (!err || err_is_shortage(err))
		return err;

	int number = err_number(err);

	err_destroy(err);
	if (number == EPERM || number == EACCES) {
		*ret = open_by_path(target, mapping);
		if (*ret >= 0)
			return NULL;
		*answer = MODULE_REFUSED;
		*why = refusal(target, mapping, number);
	} else {
		// Without a number: it is a device, or empty.
		*answer = number ? MODULE_GONE : MODULE_IS_NONE;
	}
	return NULL;
}

/* The path by which the open file can be opened again. NULL: no memory. */
static char *path_to(int fd, const char *path)
{
	struct stat file, named;
	char *ret;

	if (fstat(fd, &file) == 0 && stat(path, &named) == 0 && file.st_dev == named.st_dev &&
	    file.st_ino == named.st_ino)
		return strdup(path);
	return asprintf(&ret, "/proc/self/fd/%d", fd) < 0 ? NULL : ret;
}

/* Reads the vdso's image. NULL: it cannot be read. */
static uint8_t *read_memory(const struct target *target, uint64_t start, size_t size)
{
	auto_free uint8_t *memory = malloc(size);
	struct iovec into = {memory, size}, from = {(void *)(uintptr_t)start, size};

	// Not /proc/PID/mem: that is its owner's file, and needs one capability more.
	if (!memory || process_vm_readv(target->pid, &into, 1, &from, 1, 0) != (ssize_t)size)
		return NULL;
	return steal(&memory);
}

static struct err *open_vdso(const struct target *target, const struct proc_mapping *mapping,
			     enum module_answer *answer, struct target_module *module)
{
	size_t size = (size_t)(mapping->end - mapping->start);
	uint8_t *memory = size <= VDSO_MAX ? read_memory(target, mapping->start, size) : NULL;

	*answer = MODULE_IS_NONE;
	if (!memory)
		return NULL;
	*module = (struct target_module){
		.path = strdup(mapping->path), .fd = -1, .memory = memory, .memory_size = size};
	if (!module->path) {
		module_close(module);
		return err_no_memory();
	}
	*answer = MODULE_IS;
	return NULL;
}

struct err *module_open(const struct target *target, const struct proc_mapping *mapping,
			enum module_answer *answer, struct target_module *module, struct err **why)
{
	struct load_segments segments;
	auto_close int fd = -1;

	if (strcmp(mapping->path, "[vdso]") == 0)
		return open_vdso(target, mapping, answer, module);
	*answer = MODULE_IS_NONE;
	if (!mapping->inode)
		return NULL;

	struct err *err = open_file(target, mapping, answer, &fd, why);

	if (err || *answer != MODULE_IS)
		return err;
	if (!load_segments_read(fd, NULL, 0, &segments)) {
		*answer = MODULE_IS_NONE;
		return NULL;
	}
	*module = (struct target_module){.path = strdup(mapping->path),
					 .open_path = path_to(fd, mapping->path),
					 .fd = fd,
					 .device = mapping->device,
					 .inode = mapping->inode};
	fd = -1;
	if (!module->path || !module->open_path) {
		module_close(module);
		return err_no_memory();
	}
	return NULL;
}
