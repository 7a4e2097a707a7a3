#include "ebpf/target/target.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "base/first_where.h"
#include "symbols/load_segments.h"
#include "ebpf/target/process_check.h"
#include "cfi/abi.h"
#include "hosted/cleanup.h"
#include "hosted/proc.h"
#include "symbols/elf_image.h"

enum module_answer {
	MODULE_IS,
	MODULE_IS_NONE, /* no file, or not an ELF file of this machine: code that was made at run
			   time */
	MODULE_GONE,    /* the mapping is there no more, or not as it was */
	MODULE_REFUSED, /* the file cannot be opened */
};

/* The vdso has two to four pages. */
#define VDSO_MAX (1u << 20)

static void module_close(struct target_module *module)
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

/*
 * Opens the file of a mapping of the target, or reads the vdso. With MODULE_IS *module is filled,
 * and the caller owns what is in it; with MODULE_REFUSED *why says why, and the caller owns it. An
 * error: no memory, or no descriptor.
 */
static struct err *module_open(const struct target *target, const struct proc_mapping *mapping,
			       enum module_answer *answer, struct target_module *module,
			       struct err **why)
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
	if (!load_segments_read(fd, NULL, 0, ARCH_ELF_MACHINE, &segments)) {
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

/* How often the mappings are read again if one goes while its file is being opened. */
#define ATTEMPTS 4

/* The mappings while they are read. */
struct look {
	struct target *target;
	VEC(struct target_span) spans;
	bool strict; /* a file that cannot be opened is an error */
	bool moved;  /* a mapping is there no more: the list is not of one moment */
	/* The last file that turned out not to be a module. 0: none. */
	uint64_t none_device, none_inode;
	/* The last mapping of a file; inode 0: none. Its path is in path. */
	struct proc_mapping neighbour;
	char path[PATH_MAX];
};

static struct err *target_ended(const struct target *target)
{
	return err_create_errno(ESRCH, "process %d has ended", (int)target->pid);
}

/* The module of a mapping, if its file is known. TARGET_NO_MODULE: it is not. */
static uint32_t find_module(const struct target *target, const struct proc_mapping *mapping)
{
	for (size_t i = 0; i < target->modules.count; i++) {
		const struct target_module *module = &target->modules.items[i];
		bool same = module->memory ? strcmp(module->path, mapping->path) == 0
					   : mapping->inode && module->inode == mapping->inode &&
						     module->device == mapping->device;

		if (same)
			return (uint32_t)i;
	}
	return TARGET_NO_MODULE;
}

/* The module of a mapping, a new one if need be. */
static struct err *module_of(struct look *look, const struct proc_mapping *mapping, uint32_t *ret)
{
	struct target *target = look->target;
	struct target_module module;
	enum module_answer answer;
	struct err *why = NULL;

	*ret = find_module(target, mapping);
	if (*ret != TARGET_NO_MODULE || (mapping->inode && mapping->inode == look->none_inode &&
					 mapping->device == look->none_device))
		return NULL;
	if (!vec_reserve(&target->modules, 1))
		return err_no_memory();

	struct err *err = module_open(target, mapping, &answer, &module, &why);

	if (err)
		return err;
	if (answer == MODULE_REFUSED && look->strict)
		return why;
	err_destroy(why);
	if (answer == MODULE_IS) {
		*ret = (uint32_t)target->modules.count;
		target->modules.items[target->modules.count++] = module;
	} else if (answer == MODULE_GONE) {
		look->moved = true;
	} else {
		look->none_device = mapping->device;
		look->none_inode = mapping->inode;
	}
	return NULL;
}

static bool is_code(const struct proc_mapping *mapping)
{
	// The kernel's own: a page of system calls, and where it executes probed instructions.
	return mapping->executable && strcmp(mapping->path, "[vsyscall]") != 0 &&
	       strcmp(mapping->path, "[uprobes]") != 0;
}

/* The span's bias, by what its module's file has at the mapping's offset. */
static void set_bias(struct look *look, const struct proc_mapping *mapping,
		     struct load_segments *segments, struct target_span *span)
{
	struct target_module *module = &look->target->modules.items[span->module];
	uint64_t address;

	if (load_segments_read(module->fd, module->memory, module->memory_size, ARCH_ELF_MACHINE,
			       segments) &&
	    load_segments_address(segments, mapping->offset, &address))
		span->bias = mapping->start - address;
	else
		span->module = TARGET_NO_MODULE;
}

/*
 * Code in no file may be a copy of a file's text, on huge pages, where the text was: it lies where
 * the file before it has code. So it is that file's.
 */
static struct err *take_neighbour(struct look *look, struct target_span *span)
{
	const struct proc_mapping *neighbour = &look->neighbour;
	struct load_segments segments;
	bool strict = look->strict;
	struct err *err;

	if (!neighbour->inode)
		return NULL;
	look->strict = false; // it need not be a file with code
	err = module_of(look, neighbour, &span->module);
	look->strict = strict;
	if (err || span->module == TARGET_NO_MODULE)
		return err;
	set_bias(look, neighbour, &segments, span);
	if (span->module != TARGET_NO_MODULE &&
	    !load_segments_have_code(&segments, span->start - span->bias, span->end - span->bias)) {
		span->module = TARGET_NO_MODULE;
		span->bias = 0;
	}
	return NULL;
}

static struct err *add_span(struct look *look, const struct proc_mapping *mapping)
{
	struct target_span span = {.start = mapping->start, .end = mapping->end};
	struct err *err = module_of(look, mapping, &span.module);
	struct load_segments segments;

	if (!err && span.module != TARGET_NO_MODULE)
		set_bias(look, mapping, &segments, &span);
	else if (!err && mapping->path[0] != '[')
		err = take_neighbour(look, &span);
	if (err)
		return err;
	if (span.module != TARGET_NO_MODULE)
		look->target->modules.items[span.module].mapped = true;
	return vec_push(&look->spans, span) ? NULL : err_no_memory();
}

/* Remembers a mapping of a file with a name, and of no other kind. */
static void note_neighbour(struct look *look, const struct proc_mapping *mapping)
{
	if (!mapping->inode || mapping->path[0] != '/' ||
	    strlen(mapping->path) >= sizeof(look->path) ||
	    strcmp(mapping->path, "/anon_hugepage") == 0)
		return;
	strcpy(look->path, mapping->path);
	look->neighbour = *mapping;
	look->neighbour.path = look->path;
}

static struct err *read_maps(struct look *look)
{
	struct target *target = look->target;
	auto_close int fd = openat(target->proc, "maps", O_RDONLY | O_CLOEXEC);
	auto_fclose FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
	auto_free char *line = NULL;
	size_t capacity = 0, lines = 0;
	struct err *err = NULL;

	if (!file)
		return errno == ENOENT || errno == ESRCH
			       ? target_ended(target)
			       : err_create_errno(errno, "/proc/%d/maps", (int)target->pid);
	fd = -1;
	for (size_t i = 0; i < target->modules.count; i++)
		target->modules.items[i].mapped = false;
	for (; !err && getline(&line, &capacity, file) > 0; lines++) {
		struct proc_mapping mapping;

		if (!proc_mapping_read(line, &mapping))
			continue;
		if (is_code(&mapping))
			err = add_span(look, &mapping);
		note_neighbour(look, &mapping);
	}
	// The kernel shows a process that has ended, but was not waited for, without mappings.
	return err || lines ? err : target_ended(target);
}

static bool is_same_span(const struct target_span *a, const struct target_span *b)
{
	return a->start == b->start && a->end == b->end && a->bias == b->bias &&
	       a->module == b->module;
}

static struct err *look_again(struct target *target, bool strict, bool *changed)
{
	struct look look = {.target = target, .strict = strict};
	struct err *err = NULL;

	for (int i = 0; !err && i < ATTEMPTS && (!i || look.moved); i++) {
		look.spans.count = 0;
		look.neighbour.inode = 0;
		look.moved = false;
		err = read_maps(&look);
	}
	if (err) {
		vec_deinit(&look.spans);
		return err;
	}

	size_t count = look.spans.count;

	*changed = count != target->spans.count;
	for (size_t i = 0; !*changed && i < count; i++)
		*changed = !is_same_span(&look.spans.items[i], &target->spans.items[i]);
	vec_deinit(&target->spans);
	target->spans.items = look.spans.items;
	target->spans.count = count;
	target->spans.capacity = look.spans.capacity;
	return NULL;
}

struct err *target_open(pid_t pid, struct target **ret)
{
	cleanup(target_close_at) struct target *target = calloc(1, sizeof(*target));
	bool changed;

	if (!target)
		return err_no_memory();
	target->pid = pid;
	target->proc = -1;

	struct err *err = process_check(pid, &target->proc, &target->program, &target->facts);

	if (!err)
		err = look_again(target, true, &changed);
	if (err)
		return err;
	*ret = steal(&target);
	return NULL;
}

void target_close(struct target *target)
{
	if (!target)
		return;
	for (size_t i = 0; i < target->modules.count; i++)
		module_close(&target->modules.items[i]);
	vec_deinit(&target->modules);
	vec_deinit(&target->spans);
	if (target->proc >= 0)
		close(target->proc);
	free(target->program);
	free(target);
}

struct err *target_refresh(struct target *target, bool *changed)
{
	return look_again(target, false, changed);
}

const struct target_span *target_find(const struct target *target, uint64_t address)
{
	const struct target_span *spans = target->spans.items;
	size_t at = first_where(i, 0, target->spans.count, spans[i].end > address);

	return at < target->spans.count && address >= spans[at].start ? &spans[at] : NULL;
}
