/*
 * An ELF file opened for reading. Only regular files are touched, so no FIFO or device at a
 * recorded path can hang or disturb us. All program and debug files, and perf maps, are opened
 * here.
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

/* The longest build id, in bytes. Usually it has 20 (SHA-1); a longer one than this is damage. */
#define ELF_IMAGE_BUILD_ID_MAX 64

struct elf_image {
	char *path;
	Elf *elf;
	int fd;              /* -1: the image is in memory, or elf_image_let_go() closed it */
	void *memory;        /* of an image in memory: owned */
	size_t pages_size;   /* of memory, if from pages_alloc(); 0: from malloc() */
	struct arena padded; /* sections that debug_padding_add() copied */
};

/*
 * Opens a program, library, object or debug file. An error: no such file, not a regular file, not
 * ELF, or a bad header.
 */
struct err *elf_image_open(const char *path, struct elf_image **ret);

/*
 * Opens an image in memory from malloc(). The image owns that memory; on failure it is freed. path:
 * for messages.
 */
struct err *elf_image_open_memory(void *memory, size_t size, const char *path,
				  struct elf_image **ret);
/* The same for memory from pages_alloc(). */
struct err *elf_image_open_pages(void *pages, size_t size, const char *path,
				 struct elf_image **ret);

/*
 * Closes the file's descriptor, so that many images can be open at a time. Sections that were read
 * stay; others cannot be read any more.
 */
void elf_image_let_go(struct elf_image *image);

void elf_image_close(struct elf_image *image);
CLEANUP_DEFINE(struct elf_image *, elf_image_close);

/*
 * Whether the image is a program or shared library. Others are objects, core files, and the files
 * that dwz moves shared parts to.
 */
bool elf_image_is_loadable(const struct elf_image *image);

/* Whether the image is a 64-bit little-endian one, so that its numbers can be read as they are. */
bool elf_image_is_laid_out_as_here(const struct elf_image *image);

/*
 * Opens a regular file for reading and returns its descriptor, which the caller closes. Never
 * blocks.
 */
struct err *elf_image_open_file(const char *path, int *ret);

/* Returns the size of the build id, 0: it has none. *ret lives as long as the image. */
size_t elf_image_build_id(const struct elf_image *image, const uint8_t **ret);
bool elf_image_has_build_id(const struct elf_image *image, const uint8_t *id, size_t size);
/* An error says which build id it has instead. */
struct err *elf_image_check_build_id(const struct elf_image *image, const uint8_t *id, size_t size);
/* An error: the image is not for that e_machine. 0: it may be for any. */
struct err *elf_image_check_machine(const struct elf_image *image, uint32_t machine);

/* The first section of that name that has bytes in the file; NULL: none. */
Elf_Scn *elf_image_section(const struct elf_image *image, const char *name);
/* The bytes of that section as they are in the file. NULL: none. */
Elf_Data *elf_image_section_data(const struct elf_image *image, const char *name);

/* Whether it has .debug_info, compressed or not. */
bool elf_image_has_dwarf(const struct elf_image *image);
/* Whether it has a symbol table of that type (SHT_SYMTAB, SHT_DYNSYM) with bytes in the file. */
bool elf_image_has_symbols(const struct elf_image *image, uint32_t type);

/*
 * Whether the image exports this function to other modules of its process (dynamic symbol table).
 */
bool elf_image_provides(const struct elf_image *image, const char *function);
/* Whether it calls a function of that name in another module (the same table). */
bool elf_image_imports(const struct elf_image *image, const char *function);

#endif
