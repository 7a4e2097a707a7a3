/* Pages are present without anybody having written to them, and whatever is asked, nothing breaks.
 */
#include "hosted/pages.h"

#include <sys/mman.h>

#include "check.h"
#include "hosted/parallel.h"

#define PAGE  4096
#define PAGES 64

static char *map(void)
{
	char *pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);

	assert_true(pages != MAP_FAILED);
	return pages;
}

static size_t present(char *pages)
{
	unsigned char there[PAGES];
	size_t count = 0;

	assert_int_equal(mincore(pages, PAGES * PAGE, there), 0);
	for (size_t i = 0; i < PAGES; i++)
		count += there[i] & 1;
	return count;
}

static void touches(void **state)
{
	struct page_toucher *toucher = page_toucher_create();
	char *first = map(), *second = map();
	// Whole pages alone: a part of one is somebody's who has not asked.
	const struct page_range ranges[] = {
		{first + 1, 10 * PAGE}, {second, 3 * PAGE}, {second, 0}};

	assert_int_equal(toucher != NULL, parallel_width() > 1);
	page_toucher_wait(toucher);
	page_toucher_ask(toucher, ranges, 3);
	page_toucher_wait(toucher);
	if (toucher) {
		assert_int_equal(present(first), 9);
		assert_int_equal(present(second), 3);
	}
	munmap(first, PAGES * PAGE);
	munmap(second, PAGES * PAGE);
	page_toucher_destroy(toucher);
}

static void ends_at_once(void **state)
{
	char *pages = map();
	const struct page_range range = {pages, PAGES * PAGE};

	for (int i = 0; i < 200; i++) {
		struct page_toucher *toucher = page_toucher_create();

		page_toucher_ask(toucher, &range, 1);
		page_toucher_ask(toucher, &range, 1);
		page_toucher_destroy(toucher);
	}
	page_toucher_ask(NULL, &range, 1);
	page_toucher_wait(NULL);
	page_toucher_destroy(NULL);
	munmap(pages, PAGES * PAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(touches),
		cmocka_unit_test(ends_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
