#include "hosted/vec.h"

bool vec_grow(void **items, size_t *capacity, size_t count, size_t more, size_t item_size)
{
	size_t need, bytes;
	size_t wanted = *capacity < 8 ? 8 : *capacity * 2;

	if (__builtin_add_overflow(count, more, &need))
		return false;
	if (wanted < need)
		wanted = need;
	if (__builtin_mul_overflow(wanted, item_size, &bytes) || bytes > PTRDIFF_MAX)
		return false;

	void *grown = realloc(*items, bytes);

	if (!grown)
		return false;
	*items = grown;
	*capacity = wanted;
	return true;
}
