#include "cli/recordings/core_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hex.h"
#include "cli/cli.h"
#include "coredump/core_image.h"
#include "hosted/cleanup.h"
#include "symbols/elf_image.h"

/*
 * Core dumps that systemd-coredump has stored: core.NAME.UID.BOOT.PID.TIME, compressed or not.
 */
#define FOLDER "/var/lib/systemd/coredump"

/* Behind NAME, which may have dots in it. */
enum { UID, BOOT, PID, TIME, FIELDS };

/* Whether this is a process's number, and no file of that name is here. */
static bool is_pid(const char *word)
{
	return *word && !word[strspn(word, "0123456789")] && access(word, F_OK) != 0;
}

/*
 * *time: when the file of that name was dumped, in microseconds. false: it is no core dump of the
 * process.
 */
static bool is_core_of(const char *name, const char *pid, uint64_t *time)
{
	auto_free char *copy = strdup(name);
	const char *fields[FIELDS] = {0};
	char *end;

	if (!copy || strncmp(copy, "core.", 5) != 0)
		return false;
	// "…1732579200000000.zst": without the end of the compression.
	end = strrchr(copy, '.');
	if (end && end[strspn(end, ".0123456789")])
		*end = 0;
	for (int i = FIELDS - 1; i >= 0; i--) {
		end = strrchr(copy, '.');
		if (!end)
			return false;
		*end = 0;
		fields[i] = end + 1;
	}
	*time = strtoull(fields[TIME], NULL, 10);
	return strcmp(fields[PID], pid) == 0;
}

static void close_folder(DIR **folder)
{
	if (*folder)
		closedir(*folder);
}

/*
 * *ret: the path of the newest core dump of that process; the caller frees it. The folder is
 * /var/lib/systemd/coredump, or $MALLOW_COREDUMPS.
 */
static struct err *find_core_of(const char *pid, char **ret)
{
	const char *path = getenv("MALLOW_COREDUMPS");
	cleanup(close_folder) DIR *folder = NULL;
	auto_free char *best = NULL;
	uint64_t newest = 0, time;
	const struct dirent *entry;

	if (!path || !*path)
		path = FOLDER;
	folder = opendir(path);
	if (!folder && errno != ENOENT)
		return err_create_errno(errno, "cannot look for core dumps in '%s'", path);
	while (folder && (entry = readdir(folder)) != NULL) {
		if (!is_core_of(entry->d_name, pid, &time) || (best && time <= newest))
			continue;
		newest = time;
		free(best);
		if (asprintf(&best, "%s/%s", path, entry->d_name) < 0) {
			best = NULL;
			return err_no_memory();
		}
	}
	if (!best)
		return err_create("no file '%s', and no core dump of process %s in '%s'", pid, pid,
				  path);
	*ret = steal(&best);
	return NULL;
}

void core_files_deinit(struct core_files *files)
{
	free(files->stored);
	*files = (struct core_files){0};
}

/* Whether the file is a program or library, not a core dump. */
static bool is_program(const char *path)
{
	struct elf_image *image;
	struct err *err = elf_image_open(path, &image);
	bool loadable;

	if (err) {
		err_destroy(err);
		return false;
	}
	// A dump of memory may begin with a program's first page, which says the same of itself.
	loadable = elf_image_is_loadable(image) && elf_image_section(image, ".shstrtab");
	elf_image_close(image);
	return loadable;
}

static struct err *find_stored(struct core_files *files)
{
	struct err *err = NULL;

	if (!files->wanted.raw && is_pid(files->paths[0])) {
		err = find_core_of(files->paths[0], &files->stored);
		files->stored_list[0] = files->stored;
		files->paths = files->stored_list;
	}
	return err;
}

int core_files_find(const struct options *options, const struct core_files_wanted *wanted,
		    struct core_files *ret)
{
	const char *const *operands = (const char *const *)options->operands;
	size_t count = (size_t)options->operand_count;
	bool program = wanted->foreign || (wanted->raw ? is_program(operands[0]) : count > 1);

	*ret = (struct core_files){
		.program = program ? operands[0] : NULL,
		.paths = operands + program,
		.count = count - program,
		.wanted = *wanted,
	};
	if (wanted->foreign && !ret->count)
		return cli_error(CLI_USAGE, "--addr2line needs the program in front of the dump: "
					    "mallow core --addr2line CMD PROGRAM CORE");
	if (!ret->count)
		return cli_error(CLI_USAGE, "'%s' is a program: which dump of its memory?",
				 operands[0]);
	if (!wanted->raw && ret->count > 1)
		return cli_error(CLI_USAGE, "one core dump at a time, with its program in front: "
					    "only with --raw there may be several");
	return cli_report_err(find_stored(ret));
}

/* The module that is the program itself. NULL: no frame was in it. */
static const struct recorded_module *module_of_program(const struct recording *recording)
{
	const char *program = recording_facts(recording)->program;
	uint32_t count;
	const struct recorded_module *modules = recording_modules(recording, &count);

	for (uint32_t i = 0; i < count; i++)
		if (!modules[i].path[0] || strcmp(modules[i].path, program) == 0)
			return &modules[i];
	return NULL;
}

/* Refuses another program than the one that ran. Without build ids nobody can tell. */
static struct err *check_program(const struct core_files *files, const struct recording *recording)
{
	const struct recorded_module *module = module_of_program(recording);
	cleanup(elf_image_close_at) struct elf_image *image = NULL;
	char here[HEX_ROOM(ELF_IMAGE_BUILD_ID_MAX)], there[sizeof(here)];
	const uint8_t *id;
	struct err *err;
	size_t size;

	err = elf_image_open(files->program, &image);
	if (err)
		return err_prefix(err, "no names can be read from '%s'", files->program);
	if (!elf_image_is_loadable(image))
		return err_create("'%s' is no program; the order is PROGRAM CORE", files->program);
	size = elf_image_build_id(image, &id);
	if (!size || !module || !module->build_id_size ||
	    elf_image_has_build_id(image, module->build_id, module->build_id_size))
		return NULL;
	hex_put(here, id, size);
	hex_put(there, module->build_id,
		module->build_id_size < ELF_IMAGE_BUILD_ID_MAX ? module->build_id_size
							       : ELF_IMAGE_BUILD_ID_MAX);
	return err_create(
		"'%s' is not the program that ran: its build id is %s, that of the dumped "
		"program %s is %s",
		files->program, here, recording_facts(recording)->program, there);
}

static bool open_raw(const struct core_files *files, struct loaded *ret)
{
	return cli_report_err(recording_open_raw(files->paths, files->count, &ret->recording)) ==
	       CLI_OK;
}

bool core_files_open(const struct core_files *files, struct naming *naming, struct loaded *ret)
{
	struct loaded loaded = {0};
	struct err *err = NULL;

	if (!(files->wanted.raw
		      ? open_raw(files, &loaded)
		      : loaded_open_needs(files->paths[0], RECORDING_BLOCKS, NULL, &loaded)))
		return false;
	if (files->program && !files->wanted.foreign)
		err = check_program(files, loaded.recording);
	naming->program = files->program;
	if (!err)
		err = symbolized_create(loaded.recording, naming, &loaded.symbolized);
	if (err) {
		loaded_close(&loaded);
		cli_report_err(err);
		return false;
	}
	*ret = loaded;
	return true;
}
