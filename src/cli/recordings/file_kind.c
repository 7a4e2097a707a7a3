#include "cli/recordings/file_kind.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compiler.h"
#include "coredump/core_image.h"
#include "coredump/coredump.h"
#include "hosted/cleanup.h"
#include "hosted/files/decompressed.h"
#include "import/import.h"
#include "trace/format.h"

#define HEAD 64

struct kind {
	size_t size;
	const char *magic;
	const char *text;
};

#define KIND(magic, text)                                                                          \
	{                                                                                          \
		sizeof(magic) - 1, magic, text                                                     \
	}

static const struct kind kinds[] = {
	KIND("BZh", "bzip2 data"),
	KIND("PK\x03\x04", "a zip archive"),
	KIND("!<arch>\n", "a library archive"),
	KIND("#!", "a script"),
	KIND("<?xml", "an XML document"),
	KIND("<svg", "an SVG picture"),
	KIND("{", "a JSON document"),
	KIND("PERFILE2", "a recording of perf"),
};

static const char *elf_kind(const unsigned char *head)
{
	uint16_t type;

	memcpy(&type, head + offsetof(Elf64_Ehdr, e_type), sizeof(type));
	return type == ET_REL ? "an ELF object file" : "an ELF executable or library";
}

static bool is_text(const unsigned char *head, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (!head[i] || (head[i] < 0x20 && !strchr("\t\n\r\f\033", head[i])))
			return false;
	}
	return true;
}

/* Whether the head is all zeros, as the agent makes it before it writes the header. */
static bool is_zero(const unsigned char *head, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (head[i])
			return false;
	return true;
}

/* What the file is. NULL: it may be a recording. */
static const char *kind_of(const unsigned char *head, size_t size)
{
	uint64_t magic = TRACE_MAGIC;

	// What is compressed may be a core dump: whoever opens it finds out.
	if (core_image_is_elf(head, size) || decompressed_kind(head, size) != DECOMPRESSED_NONE)
		return NULL;
	if (!size)
		return "empty";
	if (memcmp(head, &magic, size < sizeof(magic) ? size : sizeof(magic)) == 0)
		return NULL;
	if (size >= 20 && memcmp(head, ELFMAG, SELFMAG) == 0)
		return elf_kind(head);
	for (size_t i = 0; i < ARRAY_COUNT(kinds); i++) {
		if (size >= kinds[i].size && memcmp(head, kinds[i].magic, kinds[i].size) == 0)
			return kinds[i].text;
	}
	if (is_zero(head, size))
		return "all zeros, as of a program that was killed before its first event";
	return is_text(head, size) ? "a text file" : "something else";
}

static const char *special_kind(mode_t mode)
{
	if (S_ISDIR(mode))
		return "a directory";
	if (S_ISFIFO(mode))
		return "a pipe";
	if (S_ISSOCK(mode))
		return "a socket";
	return S_ISREG(mode) ? NULL : "a device";
}

struct err *file_kind_check(const char *path)
{
	unsigned char head[HEAD] = {0};
	auto_close int fd = -1;
	const char *kind;
	struct stat st;
	struct err *err;
	ssize_t got;

	if (stat(path, &st) < 0)
		return err_create_errno(errno, "cannot open '%s'", path);
	kind = special_kind(st.st_mode);
	if (kind)
		return err_create("'%s' is no recording: it is %s", path, kind);
	// O_NONBLOCK: as of byte_source_open().
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return err_create_errno(errno, "cannot open '%s'", path);
	err = import_format(&(struct import_file){path, fd}, &kind);
	if (err || kind)
		return err;
	got = read(fd, head, sizeof(head));
	if (got < 0)
		return err_create_errno(errno, "cannot read '%s'", path);
	kind = kind_of(head, (size_t)got);
	if (kind)
		return err_create("'%s' is no recording: it is %s", path, kind);
	return NULL;
}

struct err *file_kind_check_own(const char *path, const char *why)
{
	struct err *err = file_kind_check(path);
	auto_close int fd = err ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	const char *format = NULL;
	bool core = false;

	if (fd >= 0)
		err = coredump_is(path, fd, &core);
	if (!err && fd >= 0)
		err = import_format(&(struct import_file){path, fd}, &format);
	if (format)
		return err_create("'%s' is a file of %s, which %s: mallow import makes a recording "
				  "of it",
				  path, format, why);
	if (core)
		return err_create("'%s' is a core dump, which %s: mallow core and mallow report "
				  "read it",
				  path, why);
	return err;
}
