#include "cli/recordings/watched_files.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compiler.h"
#include "hosted/cleanup.h"
#include "hosted/proc.h"
#include "symbols/elf_image.h"

void watched_files_init(struct watched_files *files, size_t most)
{
	*files = (struct watched_files){.most = most};
}

void watched_files_deinit(struct watched_files *files)
{
	for (size_t i = 0; i < files->items.count; i++) {
		free(files->items.items[i].path);
		close(files->items.items[i].fd);
	}
	vec_deinit(&files->items);
}

/* Files of packages stay as they are while a program runs, mostly. */
static bool is_system_path(const char *path)
{
	static const char *const places[] = {"/usr/", "/lib", "/bin/", "/sbin/", "/nix/store/"};

	for (size_t i = 0; i < ARRAY_COUNT(places); i++)
		if (strncmp(path, places[i], strlen(places[i])) == 0)
			return strncmp(path, "/usr/local/", 11) != 0;
	return false;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Whether paths mean for the process what they mean here. */
static bool has_our_root(uint32_t pid)
{
	struct stat root, own;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/root", pid);
	return stat(path, &root) == 0 && stat("/", &own) == 0 && is_same(&root, &own);
}

static bool is_held(const struct watched_files *files, const struct proc_mapping *mapping)
{
	for (size_t i = 0; i < files->items.count; i++)
		if (files->items.items[i].inode == mapping->inode &&
		    files->items.items[i].device == mapping->device)
			return true;
	return false;
}

/* Opens a file if it is the one that is mapped. -1: it is not, or it cannot be opened. */
static int open_if(const char *path, uint64_t inode)
{
	struct stat status;
	int fd = -1;

	err_destroy(elf_image_open_file(path, &fd));
	if (fd < 0 || (fstat(fd, &status) == 0 && status.st_ino == inode))
		return fd;
	close(fd);
	return -1;
}

/*
 * Opens a mapping's file: by its name, which needs no privilege, else by the mapping. The name is
 * one here, as of a process in a chroot, or one there, as of one with other mounts.
 */
static int open_mapped(uint32_t pid, const struct proc_mapping *mapping)
{
	auto_free char *path = NULL;
	int fd = mapping->deleted ? -1 : open_if(mapping->path, mapping->inode);

	if (fd < 0 && !mapping->deleted &&
	    asprintf(&path, "/proc/%" PRIu32 "/root%s", pid, mapping->path) > 0)
		fd = open_if(path, mapping->inode);
	if (fd >= 0)
		return fd;
	free(steal(&path));
	if (asprintf(&path, "/proc/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64, pid, mapping->start,
		     mapping->end) > 0)
		fd = open_if(path, mapping->inode);
	if (fd >= 0)
		return fd;
	// The mapping's needs a capability, the program's only the same user.
	free(steal(&path));
	return asprintf(&path, "/proc/%" PRIu32 "/exe", pid) > 0 ? open_if(path, mapping->inode)
								 : -1;
}

/* root: of the process, as we see it. */
static void hold(struct watched_files *files, uint32_t pid, const char *root,
		 const struct proc_mapping *mapping)
{
	size_t length = strlen(root);
	bool below = strncmp(mapping->path, root, length) == 0 && mapping->path[length] == '/';
	struct watched_file file = {.device = mapping->device, .inode = mapping->inode};

	file.fd = open_mapped(pid, mapping);
	if (file.fd < 0)
		return;
	file.path = strdup(mapping->path + (below ? length : 0));
	if (file.path && vec_push(&files->items, file))
		return;
	close(file.fd);
	free(file.path);
}

void watched_files_look(struct watched_files *files, uint32_t pid)
{
	bool ours = has_our_root(pid);
	auto_free char *line = NULL;
	char path[32], root[PATH_MAX] = "";
	struct proc_mapping mapping;
	size_t room = 0;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/root", pid);
	// "/" is the root of a process with other mounts, too.
	if (ours || readlink(path, root, sizeof(root) - 1) <= 1)
		root[0] = '\0';
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/maps", pid);

	auto_fclose FILE *maps = fopen(path, "re");

	while (maps && files->items.count < files->most && getline(&line, &room, maps) > 0)
		if (proc_mapping_read(line, &mapping) && mapping.executable && mapping.inode &&
		    mapping.path[0] == '/' && !(ours && is_system_path(mapping.path)) &&
		    !is_held(files, &mapping))
			hold(files, pid, root, &mapping);
}

struct err *watched_files_places(const struct watched_files *files, struct symbolizer *symbolizer)
{
	struct err *err = NULL;

	for (size_t i = 0; !err && i < files->items.count; i++) {
		const struct watched_file *file = &files->items.items[i];
		struct stat held, named;
		char place[32];

		if (fstat(file->fd, &held) < 0 ||
		    (stat(file->path, &named) == 0 && is_same(&held, &named)))
			continue;
		snprintf(place, sizeof(place), "/proc/self/fd/%d", file->fd);
		err = symbolizer_add_place(symbolizer, file->path, place);
	}
	return err;
}
