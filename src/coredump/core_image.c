/*
 * Sources: elf(5); the kernel's fs/binfmt_elf.c for the notes that a core dump has, and in which
 * layout.
 */
#include "coredump/core_image.h"

#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <gelf.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "base/first_where.h"
#include "hosted/cleanup.h"

/* In a 64-bit prpsinfo; and in a prstatus of any size. */
#define PRPSINFO_PID    24
#define PRSTATUS_SIGNAL 12

void core_image_deinit(struct core_image *image)
{
	vec_deinit(&image->segments);
	vec_deinit(&image->mappings);
	arena_deinit(&image->arena);
}

static int compare_segments(const void *left, const void *right)
{
	const struct core_segment *a = left, *b = right;

	return a->address < b->address ? -1 : a->address > b->address;
}

/* Whether b goes on where a ends. All of a must be in the file. */
static bool go_on(const struct core_segment *a, const struct core_segment *b)
{
	return a->fd == b->fd && a->held == a->size && a->address + a->size == b->address &&
	       a->offset + a->held == b->offset;
}

void core_image_sort(struct core_image *image)
{
	struct core_segment *segments = image->segments.items;
	size_t kept = 0;

	if (!image->segments.count)
		return;
	qsort(segments, image->segments.count, sizeof(*segments), compare_segments);
	for (size_t i = 1; i < image->segments.count; i++) {
		if (go_on(&segments[kept], &segments[i])) {
			segments[kept].size += segments[i].size;
			segments[kept].held += segments[i].held;
		} else {
			segments[++kept] = segments[i];
		}
	}
	image->segments.count = kept + 1;
}

size_t core_image_find(const struct core_image *image, uint64_t address)
{
	const struct core_segment *segments = image->segments.items;

	return first_where(i, 0, image->segments.count,
			   segments[i].address + (segments[i].size - 1) >= address);
}

bool core_image_is_elf(const void *head, size_t size)
{
	const unsigned char *bytes = head;
	uint16_t type;

	if (size < EI_NIDENT + sizeof(type) || memcmp(head, ELFMAG, SELFMAG) != 0)
		return false;
	memcpy(&type, bytes + EI_NIDENT, sizeof(type));
	return (bytes[EI_DATA] == ELFDATA2MSB ? be16toh(type) : le16toh(type)) == ET_CORE;
}

CLEANUP_DEFINE(Elf *, elf_end);

/* A note's bytes, as the dumped machine writes them. */
struct note {
	const uint8_t *data;
	size_t size;
	unsigned int word; /* bytes of a long: 4 or 8 */
	bool big;
};

/* The number of `width` bytes, 2, 4 or 8, at `at`. 0: it is not within the note. */
static uint64_t number_at(const struct note *note, size_t at, unsigned int width)
{
	uint64_t value = 0;

	if (width > note->size || at > note->size - width)
		return 0;
	for (unsigned int i = 0; i < width; i++) {
		unsigned int from = note->big ? i : width - 1 - i;

		value = value << 8 | note->data[at + from];
	}
	return value;
}

/*
 * NT_FILE: count and page size; then start, end and offset in pages of each mapping; then their
 * paths, each ended by NUL. All numbers are longs.
 */
static struct err *take_files(struct core_image *image, const struct note *note)
{
	uint64_t count = number_at(note, 0, note->word);
	uint64_t page = number_at(note, note->word, note->word);
	uint64_t at = 2 * note->word, paths;
	const char *path, *end = (const char *)note->data + note->size;

	// A damaged list is as good as none.
	if (!page || count > note->size / (3 * note->word))
		return NULL;
	paths = at + count * 3 * note->word;
	if (paths > note->size)
		return NULL;
	path = (const char *)note->data + paths;
	for (uint64_t i = 0; i < count && path < end; i++, at += 3 * note->word) {
		size_t length = strnlen(path, (size_t)(end - path));
		struct core_mapping mapping = {
			.start = number_at(note, at, note->word),
			.end = number_at(note, at + note->word, note->word),
			.offset = number_at(note, at + 2 * note->word, note->word),
			.path = arena_copy(&image->arena, path, length),
		};

		path += length + 1;
		if (!mapping.path)
			return err_no_memory();
		if (__builtin_mul_overflow(mapping.offset, page, &mapping.offset) ||
		    mapping.end <= mapping.start)
			continue;
		if (!vec_push(&image->mappings, mapping))
			return err_no_memory();
	}
	return NULL;
}

static struct err *take_note(struct core_image *image, uint32_t type, const struct note *note)
{
	switch (type) {
	case NT_FILE:
		return take_files(image, note);
	case NT_PRPSINFO:
		// The layout for 32 bits depends on the processor.
		if (note->word == 8)
			image->pid = (uint32_t)number_at(note, PRPSINFO_PID, 4);
		return NULL;
	case NT_PRSTATUS:
		// The first thread is the one that the signal ended.
		if (!image->signal)
			image->signal = (uint32_t)number_at(note, PRSTATUS_SIGNAL, 2);
		return NULL;
	}
	return NULL;
}

static struct err *take_notes(struct core_image *image, Elf *elf, const GElf_Phdr *program,
			      bool big)
{
	Elf_Data *data = elf_getdata_rawchunk(elf, (int64_t)program->p_offset, program->p_filesz,
					      program->p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
	size_t at = 0, next, name_at, body_at;
	struct err *err = NULL;
	GElf_Nhdr header;

	while (!err && data && (next = gelf_getnote(data, at, &header, &name_at, &body_at)) > 0) {
		struct note note = {
			.data = (const uint8_t *)data->d_buf + body_at,
			.size = header.n_descsz,
			.word = gelf_getclass(elf) == ELFCLASS32 ? 4 : 8,
			.big = big,
		};

		if (header.n_namesz == sizeof("CORE") &&
		    memcmp((const char *)data->d_buf + name_at, "CORE", sizeof("CORE")) == 0)
			err = take_note(image, header.n_type, &note);
		at = next;
	}
	return err;
}

static struct err *take_segment(struct core_image *image, const GElf_Phdr *program, int fd,
				uint64_t file_size)
{
	struct core_segment segment = {
		.address = program->p_vaddr,
		.size = program->p_memsz > program->p_filesz ? program->p_memsz : program->p_filesz,
		.offset = program->p_offset,
		.held = program->p_filesz,
		.fd = fd,
	};
	uint64_t there = segment.offset < file_size ? file_size - segment.offset : 0;

	if (!segment.size || segment.address + (segment.size - 1) < segment.address)
		return NULL;
	if (segment.held > there) {
		image->cut += segment.held - there;
		segment.held = there;
	}
	return vec_push(&image->segments, segment) ? NULL : err_no_memory();
}

struct err *core_image_read_elf(const char *name, int fd, struct core_image *ret)
{
	cleanup(elf_end_at) Elf *elf = NULL;
	const char *identity;
	struct stat status;
	struct err *err = NULL;
	size_t count;

	if (fstat(fd, &status) < 0)
		return err_create_errno(errno, "%s", name);
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf || elf_getphdrnum(elf, &count) < 0)
		return err_create("%s: a damaged core dump: %s", name, elf_errmsg(-1));
	identity = elf_getident(elf, NULL);
	for (size_t i = 0; !err && i < count; i++) {
		GElf_Phdr program;

		if (!gelf_getphdr(elf, (int)i, &program))
			return err_create("%s: a damaged core dump: %s", name, elf_errmsg(-1));
		if (program.p_type == PT_NOTE)
			err = take_notes(ret, elf, &program,
					 identity && identity[EI_DATA] == ELFDATA2MSB);
		else if (program.p_type == PT_LOAD)
			err = take_segment(ret, &program, fd, (uint64_t)status.st_size);
	}
	core_image_sort(ret);
	return err;
}
