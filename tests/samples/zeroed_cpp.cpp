/* What operator new gives is zero, used again or not; says how often it was not. See zeroed.c. */
#include "sample.h"

#include <new>

static int dirty_blocks;

static void look(void *block, size_t size)
{
	unsigned char *bytes = static_cast<unsigned char *>(block);

	for (size_t i = 0; i < size; i++) {
		if (bytes[i]) {
			dirty_blocks++;
			break;
		}
	}
	memset(block, 0xa5, size);
}

int main()
{
	for (int round = 0; round < 3; round++) {
		for (size_t size = 1; size < 300000; size = size * 2 + 1) {
			void *one = ::operator new(size);
			void *many = ::operator new[](size, std::nothrow);
			void *aligned = ::operator new(size, std::align_val_t(128));

			look(one, size);
			look(many, size);
			look(aligned, size);
			::operator delete(one);
			::operator delete[](many);
			::operator delete(aligned, std::align_val_t(128));
		}
	}
	printf("%d\n", dirty_blocks);
	return 0;
}
