/*
 * An ELF file opened for reading: nothing but a regular file is touched, so neither a FIFO nor a
 * device at a recorded path can hang or disturb us. The only place that opens files by name.
 */
#ifndef MALLOW_SYMBOLS_ELF_IMAGE_H
#define MALLOW_SYMBOLS_ELF_IMAGE_H

#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hosted/arena.h"
#include "hosted/cleanup.h"
#include "hosted/err.h"

/* A build id is 20 bytes (SHA-1) as a rule; what is longer than this is damage. */
#define ELF_IMAGE_BUILD_ID_MAX 64

struct elf_image {
	char *path;
	Elf *elf;
	int fd;              /* -1: the image is in memory, or was let go */
	void *memory;        /* of an image in memory; freed with it */
	size_t pages_size;   /* of memory from pages_alloc(); 0: from malloc() */
	struct arena padded; /* sections that debug_padding_add() copied */
};

/* An error: no such file, not a regular one, not an ELF program or library, or its header is bad.
 */
struct err *elf_image_open(const char *path, struct elf_image **ret);

/* An image that is already in memory, from malloc(), which is taken over, on failure too. */
struct err *elf_image_open_memory(void *memory, size_t size, const char *path,
				  struct elf_image **ret);
/* The same of memory from pages_alloc(). */
struct err *elf_image_open_pages(void *pages, size_t size, const char *path,
				 struct elf_image **ret);

/*
 * Closes the file's descriptor, so that many images may be open. What was read of the file stays,
 * the rest cannot be read any more.
 */
void elf_image_let_go(struct elf_image *image);

void elf_image_close(struct elf_image *image);
CLEANUP_DEFINE(struct elf_image *, elf_image_close);

/* A program or shared library. Others: objects, core files, the files that dwz shares parts in. */
bool elf_image_is_loadable(const struct elf_image *image);

/* Numbers are 64-bit, little-endian. */
bool elf_image_is_laid_out_as_here(const struct elf_image *image);

/* Opens a regular file for reading; never blocks. */
struct err *elf_image_open_file(const char *path, int *ret);

/* Size of the build id, 0: none. *ret lives as long as the image. */
size_t elf_image_build_id(const struct elf_image *image, const uint8_t **ret);
bool elf_image_has_build_id(const struct elf_image *image, const uint8_t *id, size_t size);

/* The first section of that name that has bytes in the file; NULL: none. */
Elf_Scn *elf_image_section(const struct elf_image *image, const char *name);
/* Its bytes as they are in the file; NULL: none. */
Elf_Data *elf_image_section_data(const struct elf_image *image, const char *name);

/* Has .debug_info, compressed or not. */
bool elf_image_has_dwarf(const struct elf_image *image);
/* Has a symbol table of that type (SHT_SYMTAB, SHT_DYNSYM) with bytes in the file. */
bool elf_image_has_symbols(const struct elf_image *image, uint32_t type);

/* Whether other modules of its process are given this function by it (dynamic symbol table). */
bool elf_image_provides(const struct elf_image *image, const char *function);

#endif
