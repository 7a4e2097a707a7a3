/* libFuzzer target: an ELF file, of which a function's text is asked for. */
#include <stdlib.h>
#include <string.h>

#include "symbols/constant_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = NULL, *copy = malloc(size + 1);
	struct elf_image *image;
	struct err *err;

	if (!copy)
		abort();
	memcpy(copy, data, size);
	err = elf_image_open_memory(copy, size, "x", &image);
	if (err) {
		err_destroy(err);
		return 0;
	}
	if (constant_text(image, "__lsan_default_suppressions", &text))
		abort();
	free(text);
	elf_image_close(image);
	return 0;
}
