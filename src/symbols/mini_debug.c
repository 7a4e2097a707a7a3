#include "symbols/mini_debug.h"

#include <errno.h>
#include <lzma.h>

#include "symbols/symbol_log.h"

/*
 * The most bytes of the image, and of the decoder's memory. The largest programs need some MiB; a
 * damaged section must not take all memory.
 */
#define SIZE_LIMIT  (256u << 20)
#define CODER_LIMIT (128u << 20)

/*
 * Decodes at most SIZE_LIMIT bytes. The buffer is doubled until the result fits. *ret NULL: it
 * could not be decoded.
 */
static struct err *decode_xz(const char *path, const Elf_Data *data, uint8_t **ret,
			     size_t *ret_size)
{
	*ret = NULL;
	for (size_t capacity = data->d_size * 4; capacity <= SIZE_LIMIT; capacity *= 2) {
		auto_free uint8_t *bytes = malloc(capacity);
		uint64_t limit = CODER_LIMIT;
		size_t in = 0, out = 0;

		if (!bytes)
			return err_no_memory();

		lzma_ret result = lzma_stream_buffer_decode(&limit, 0, NULL, data->d_buf, &in,
							    data->d_size, bytes, &out, capacity);

		if (result == LZMA_OK) {
			*ret = steal(&bytes);
			*ret_size = out;
			return NULL;
		}
		if (result == LZMA_MEM_ERROR)
			return err_no_memory();
		if (result == LZMA_FORMAT_ERROR || result == LZMA_OPTIONS_ERROR) {
			symbol_log("%s: .gnu_debugdata is compressed in an unknown way, not by xz",
				   path);
			return NULL;
		}
		if (result != LZMA_BUF_ERROR) {
			symbol_log("%s: .gnu_debugdata is damaged", path);
			return NULL;
		}
	}
	symbol_log("%s: .gnu_debugdata is cut short, or has more than %u MiB", path,
		   SIZE_LIMIT >> 20);
	return NULL;
}

struct err *mini_debug_open(const struct elf_image *image, struct elf_image **ret)
{
	Elf_Data *data = elf_image_section_data(image, ".gnu_debugdata");
	struct elf_image *mini = NULL;
	uint8_t *bytes = NULL;
	size_t size = 0;

	*ret = NULL;
	if (!data) {
		symbol_log("%s %s .gnu_debugdata", image->path,
			   elf_image_section(image, ".gnu_debugdata") ? "has an empty" : "has no");
		return NULL;
	}

	struct err *err = decode_xz(image->path, data, &bytes, &size);

	if (err || !bytes)
		return err;
	err = elf_image_open_memory(bytes, size, image->path, &mini);
	if (err && err_number(err) == ENOMEM)
		return err;
	symbol_log_refusal(err_prefix(err, ".gnu_debugdata"));
	*ret = mini;
	return NULL;
}
