/*
 * The cache of modules that a receiver fills: what is asked for, what is taken, and that a hostile
 * sender can place nothing else. Also the sender's side, which finds the files. The ELF files are
 * made here.
 */
#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "hosted/cleanup.h"
#include "stream/modules/module_file.h"
#include "stream/modules/module_store.h"

#define ID_SIZE 20u

static const uint8_t id[ID_SIZE] = "\xab\xcd\xef\x01\x23 an id of it";
static const uint8_t other_id[ID_SIZE] = "\xab\xcd\xef\x01\x23 another one";
/* id's name: the first byte, and the others. */
#define FOLDER "ab"
#define NAME   "cdef012320616e206964206f66206974000000"

static char place[] = "/tmp/mallow-module-store-XXXXXX";
static char cache[64];  /* of modules */
static char module[64]; /* where the module is said to be */

/* An ELF file of only what is looked at. */
struct elf {
	Elf64_Ehdr header;
	Elf64_Phdr segment;
	struct {
		Elf64_Nhdr header;
		char name[4];
		uint8_t id[ID_SIZE];
	} note;
	Elf64_Shdr sections[3]; /* none, .symtab, names */
	char names[16];
	char tail[16];
};

static struct elf make(const uint8_t *build_id, bool symbols)
{
	struct elf elf = {
		.header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				       EV_CURRENT},
			   .e_type = ET_DYN,
			   .e_machine = EM_X86_64,
			   .e_version = EV_CURRENT,
			   .e_phoff = offsetof(struct elf, segment),
			   .e_ehsize = sizeof(Elf64_Ehdr),
			   .e_phentsize = sizeof(Elf64_Phdr),
			   .e_phnum = 1,
			   .e_shentsize = sizeof(Elf64_Shdr)},
		.segment = {.p_type = PT_NOTE,
			    .p_offset = offsetof(struct elf, note),
			    .p_filesz = sizeof(elf.note),
			    .p_memsz = sizeof(elf.note),
			    .p_align = 4},
		.note = {{4, ID_SIZE, NT_GNU_BUILD_ID}, "GNU", {0}},
	};

	memcpy(elf.note.id, build_id, ID_SIZE);
	if (!symbols)
		return elf;
	elf.header.e_shoff = offsetof(struct elf, sections);
	elf.header.e_shnum = 3;
	elf.header.e_shstrndx = 2;
	elf.sections[1] = (Elf64_Shdr){.sh_type = SHT_SYMTAB, .sh_entsize = sizeof(Elf64_Sym)};
	elf.sections[2] = (Elf64_Shdr){.sh_type = SHT_STRTAB,
				       .sh_offset = offsetof(struct elf, names),
				       .sh_size = sizeof(elf.names)};
	return elf;
}

static struct err *store(enum message_file what, const void *data, size_t size)
{
	cleanup(module_store_destroy_at) struct module_store *modules = NULL;
	struct incoming_module *file;
	size_t half = size / 2;

	assert_ok(module_store_create(NULL, &modules));
	assert_ok(module_store_begin(modules, what, id, ID_SIZE, &file));
	assert_ok(module_store_append(file, 0, data, half));
	assert_ok(module_store_append(file, half, (const char *)data + half, size - half));
	return module_store_commit(file);
}

static bool lacks_with(const char *root, enum message_file what, const char *path)
{
	cleanup(module_store_destroy_at) struct module_store *modules = NULL;
	const char *const places[] = {root, NULL};
	bool ret;

	assert_ok(module_store_create(places, &modules));
	assert_ok(module_store_lacks(modules, what, id, ID_SIZE, path, &ret));
	return ret;
}

static bool lacks(enum message_file what, const char *path)
{
	return lacks_with(NULL, what, path);
}

static void write_file(const char *path, const void *data, size_t size)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	return walk->level ? remove(path) : 0;
}

static int empty(void **state)
{
	return nftw(place, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static unsigned int files;

static int count_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	files += type != FTW_D;
	return 0;
}

/* How many files there are in the cache, and above it. */
static unsigned int count_files(void)
{
	files = 0;
	nftw(place, count_one, 8, FTW_PHYS);
	return files;
}

/* Whether the file is in the cache, for its owner alone. */
static bool cached(const char *suffix, const void *data, size_t size)
{
	char path[256], bytes[sizeof(struct elf) + 1];
	struct stat status;
	FILE *file;

	snprintf(path, sizeof(path), "%s/.build-id/%s/%s%s", cache, FOLDER, NAME, suffix);
	file = fopen(path, "r");
	if (!file)
		return false;
	assert_int_equal(fstat(fileno(file), &status), 0);
	assert_int_equal(status.st_mode, S_IFREG | 0600);
	assert_int_equal(fread(bytes, 1, sizeof(bytes), file), size);
	assert_memory_equal(bytes, data, size);
	fclose(file);
	return true;
}

static void taken(void **state)
{
	const struct elf program = make(id, false), debug = make(id, true);

	assert_true(lacks(MESSAGE_MODULE, module));
	assert_true(lacks(MESSAGE_DEBUG_FILE, module));
	assert_ok(store(MESSAGE_MODULE, &program, sizeof(program)));
	assert_true(cached("", &program, sizeof(program)));
	assert_false(lacks(MESSAGE_MODULE, module));
	assert_true(lacks(MESSAGE_DEBUG_FILE, module));
	assert_ok(store(MESSAGE_DEBUG_FILE, &debug, sizeof(debug)));
	assert_true(cached(".debug", &debug, sizeof(debug)));
	assert_false(lacks(MESSAGE_DEBUG_FILE, module));
	assert_int_equal(count_files(), 2);

	// A program that holds its debug information needs no debug file.
	struct elf whole = make(id, true);

	whole.sections[1] = (Elf64_Shdr){.sh_name = 1, .sh_type = SHT_PROGBITS};
	memcpy(whole.names + 1, ".debug_info", sizeof(".debug_info"));
	empty(state);
	assert_ok(store(MESSAGE_MODULE, &whole, sizeof(whole)));
	assert_false(lacks(MESSAGE_DEBUG_FILE, module));
	empty(state);
	assert_ok(store(MESSAGE_MODULE, &program, sizeof(program)));

	// What is there is not replaced, but a file that cannot be used is.
	assert_ok(store(MESSAGE_MODULE, &debug, sizeof(debug)));
	assert_true(cached("", &program, sizeof(program)));

	const struct elf wrong = make(other_id, false);
	char path[256];

	snprintf(path, sizeof(path), "%s/.build-id/%s/%s", cache, FOLDER, NAME);
	write_file(path, &wrong, sizeof(wrong));
	assert_true(lacks(MESSAGE_MODULE, module));
	assert_ok(store(MESSAGE_MODULE, &debug, sizeof(debug)));
	assert_true(cached("", &debug, sizeof(debug)));
	assert_int_equal(count_files(), 1);
}

static void on_this_machine(void **state)
{
	struct elf program = make(id, false);

	write_file(module, &program, sizeof(program));
	assert_false(lacks(MESSAGE_MODULE, module));
	// Below the root of the sender's system.
	assert_true(lacks(MESSAGE_MODULE, strrchr(module, '/')));
	assert_false(lacks_with(place, MESSAGE_MODULE, strrchr(module, '/')));
	program = make(other_id, false);
	write_file(module, &program, sizeof(program));
	assert_true(lacks(MESSAGE_MODULE, module));
	assert_true(lacks_with(place, MESSAGE_MODULE, strrchr(module, '/')));
	// What has no file.
	assert_false(lacks(MESSAGE_MODULE, "[vdso]"));
	assert_false(lacks(MESSAGE_MODULE, "linux-vdso.so.1"));
	assert_false(lacks(MESSAGE_DEBUG_FILE, ""));
}

static void refused(void **state)
{
	const struct elf good = make(id, true);
	struct elf bad = make(other_id, true);

	assert_err(store(MESSAGE_MODULE, &bad, sizeof(bad)), "does not have this build id");
	assert_err(store(MESSAGE_MODULE, "#!/bin/sh\n", 10), "is not an ELF file");
	assert_err(store(MESSAGE_MODULE, "", 0), "is not an ELF file");
	for (size_t size = 0; size < offsetof(struct elf, note) + sizeof(good.note); size++) {
		struct err *err = store(MESSAGE_MODULE, &good, size);

		assert_non_null(err);
		err_destroy(err);
	}
	bad = make(id, true);
	bad.header.e_type = ET_CORE;
	assert_err(store(MESSAGE_MODULE, &bad, sizeof(bad)), "neither a program nor");
	bad = make(id, false);
	assert_err(store(MESSAGE_DEBUG_FILE, &bad, sizeof(bad)), "neither debug information");
	// Counts that stand in section 0: libelf would make a struct of each section.
	bad = make(id, true);
	bad.header.e_shnum = 0;
	bad.sections[0].sh_size = UINT64_C(1) << 40;
	assert_err(store(MESSAGE_MODULE, &bad, sizeof(bad)), "more sections");
	bad = make(id, true);
	bad.header.e_phnum = PN_XNUM;
	assert_err(store(MESSAGE_MODULE, &bad, sizeof(bad)), "more sections");
	bad = make(id, true);
	bad.sections[2].sh_flags = SHF_COMPRESSED;
	memcpy(bad.names, &(Elf64_Chdr){.ch_type = ELFCOMPRESS_ZLIB, .ch_size = 1}, 16);
	assert_err(store(MESSAGE_DEBUG_FILE, &bad, sizeof(bad)), "larger than it can");
	bad = make(id, true);
	bad.sections[2].sh_type = SHT_PROGBITS;
	assert_err(store(MESSAGE_DEBUG_FILE, &bad, sizeof(bad)), "names of sections");
	bad = make(id, true);
	bad.sections[2].sh_size = UINT64_C(1) << 30;
	assert_err(store(MESSAGE_DEBUG_FILE, &bad, sizeof(bad)), "names of sections");
	bad = make(id, true);
	bad.note.header.n_descsz = UINT32_MAX;
	assert_err(store(MESSAGE_MODULE, &bad, sizeof(bad)), "build id");
	assert_int_equal(count_files(), 0);
	assert_true(lacks(MESSAGE_MODULE, module));
}

/* Sections that would be large once they are decompressed, in either way. */
static void bombs(void **state)
{
	static const Elf64_Chdr packed = {.ch_type = ELFCOMPRESS_ZLIB, .ch_size = 1u << 30};
	static const char old[16] = "ZLIB\0\0\0\0\x40";
	struct elf bad = make(id, true);

	bad.sections[0] = (Elf64_Shdr){0};
	bad.sections[1].sh_flags = SHF_COMPRESSED;
	bad.sections[1].sh_offset = offsetof(struct elf, tail);
	bad.sections[1].sh_size = sizeof(bad.tail);
	memcpy(bad.tail, &packed, sizeof(bad.tail));
	assert_err(store(MESSAGE_DEBUG_FILE, &bad, sizeof(bad)), "larger than it can");
	bad.sections[1].sh_flags = 0;
	memcpy(bad.tail, old, sizeof(bad.tail));
	assert_err(store(MESSAGE_DEBUG_FILE, &bad, sizeof(bad)), "larger than it can");
	bad.tail[8] = 0;
	assert_ok(store(MESSAGE_DEBUG_FILE, &bad, sizeof(bad)));
}

/* Any byte may have any value: nothing happens but an error, or a file of this build id. */
static void any_bytes(void **state)
{
	static const uint8_t values[] = {0, 0x7f, 0xff};
	struct elf elf = make(id, true);

	for (size_t at = 0; at < sizeof(elf); at++) {
		for (size_t i = 0; i < sizeof(values); i++) {
			uint8_t *byte = (uint8_t *)&elf + at, kept = *byte;

			*byte = values[i];
			err_destroy(store(MESSAGE_MODULE, &elf, sizeof(elf)));
			err_destroy(store(MESSAGE_DEBUG_FILE, &elf, sizeof(elf)));
			*byte = kept;
		}
	}
	assert_int_equal(count_files(), 2);
	assert_false(lacks(MESSAGE_MODULE, module));
	assert_false(lacks(MESSAGE_DEBUG_FILE, module));
}

static void out_of_order(void **state)
{
	cleanup(module_store_destroy_at) struct module_store *modules = NULL;
	const struct elf good = make(id, false);
	struct incoming_module *file;

	assert_ok(module_store_create(NULL, &modules));
	assert_ok(module_store_begin(modules, MESSAGE_MODULE, id, ID_SIZE, &file));
	assert_err(module_store_append(file, 1, &good, 1), "offset 1");
	assert_ok(module_store_append(file, 0, &good, 10));
	assert_err(module_store_append(file, 0, &good, 10), "offset 0");
	assert_err(module_store_append(file, UINT64_MAX, &good, 10), "expected");
	// The size is checked before any byte is looked at.
	assert_err(module_store_append(file, 10, &good, MODULE_STORE_FILE_MAX - 9), "4 GiB");
	assert_int_equal(count_files(), 1);
	module_store_abandon(file);
	module_store_abandon(NULL);
	assert_int_equal(count_files(), 0);
	// Build ids that are no file's name.
	assert_err(module_store_begin(modules, MESSAGE_MODULE, id, 1, &file), "build id of 1 byte");
	assert_err(module_store_begin(modules, MESSAGE_MODULE, id, 65, &file), "build id of 65");
	assert_int_equal(count_files(), 0);
}

/* Files that a killed receiver left are removed, those that one is writing are not. */
static void left(void **state)
{
	cleanup(module_store_destroy_at) struct module_store *modules = NULL, *second = NULL;
	const struct elf good = make(id, false);
	struct incoming_module *file;
	char path[128];

	assert_ok(module_store_create(NULL, &modules));
	snprintf(path, sizeof(path), "%s/incoming-killed", cache);
	write_file(path, "part", 4);
	assert_ok(module_store_begin(modules, MESSAGE_MODULE, id, ID_SIZE, &file));
	assert_ok(module_store_append(file, 0, &good, sizeof(good)));
	assert_int_equal(count_files(), 2);
	assert_ok(module_store_create(NULL, &second));
	assert_int_equal(count_files(), 1);
	assert_ok(module_store_commit(file));
	assert_true(cached("", &good, sizeof(good)));
}

static void no_cache(void **state)
{
	struct module_store *modules;
	char path[128];

	snprintf(path, sizeof(path), "%s/cache", place);
	write_file(path, "a file", 6);
	assert_err(module_store_create(NULL, &modules), "cannot be made");
}

/* Opens the sender's file. Returns its size; 0: none was found. */
static uint64_t given(enum message_file what, const char *path, const void *expected)
{
	uint64_t size = 0;
	uint8_t bytes[sizeof(struct elf) + 1];
	bool found;
	int fd;

	assert_ok(module_file_open(what, id, ID_SIZE, path, &fd, &size, &found));
	if (!found)
		return 0;
	assert_int_equal(pread(fd, bytes, sizeof(bytes), 0), size);
	assert_memory_equal(bytes, expected, size);
	close(fd);
	return size;
}

static void sent(void **state)
{
	struct elf program = make(id, false);
	const struct elf debug = make(id, true);
	char path[128];

	assert_int_equal(given(MESSAGE_MODULE, module, NULL), 0);
	write_file(module, &program, sizeof(program));
	assert_int_equal(given(MESSAGE_MODULE, module, &program), sizeof(program));
	assert_int_equal(given(MESSAGE_DEBUG_FILE, module, NULL), 0);
	snprintf(path, sizeof(path), "%s (deleted)", module);
	assert_int_equal(given(MESSAGE_MODULE, path, &program), sizeof(program));
	assert_ok(store(MESSAGE_DEBUG_FILE, &debug, sizeof(debug)));
	assert_int_equal(given(MESSAGE_DEBUG_FILE, module, &debug), sizeof(debug));
	// Of another build, no program, and what would wait.
	program = make(other_id, false);
	write_file(module, &program, sizeof(program));
	assert_int_equal(given(MESSAGE_MODULE, module, NULL), 0);
	write_file(module, "a secret", 8);
	assert_int_equal(given(MESSAGE_MODULE, module, NULL), 0);
	unlink(module);
	assert_int_equal(mkfifo(module, 0600), 0);
	assert_int_equal(given(MESSAGE_MODULE, module, NULL), 0);
	assert_int_equal(given(MESSAGE_MODULE, "/dev/zero", NULL), 0);
	assert_int_equal(given(MESSAGE_MODULE, "[vdso]", NULL), 0);
	assert_int_equal(given(MESSAGE_DEBUG_FILE, module, &debug), sizeof(debug));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(taken, empty),
		cmocka_unit_test_teardown(on_this_machine, empty),
		cmocka_unit_test_teardown(refused, empty),
		cmocka_unit_test_teardown(bombs, empty),
		cmocka_unit_test_teardown(any_bytes, empty),
		cmocka_unit_test_teardown(out_of_order, empty),
		cmocka_unit_test_teardown(left, empty),
		cmocka_unit_test_teardown(no_cache, empty),
		cmocka_unit_test_teardown(sent, empty),
	};

	if (!mkdtemp(place))
		return 1;
	snprintf(cache, sizeof(cache), "%s/cache/mallow/modules", place);
	snprintf(module, sizeof(module), "%s/module", place);

	char folder[64];

	snprintf(folder, sizeof(folder), "%s/cache", place);
	setenv("XDG_CACHE_HOME", folder, 1);
	setenv("DEBUGINFOD_URLS", "", 1);

	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	rmdir(place);
	return failed;
}
