/*
 * The program's own module. One variant is linked with holes between its segments, as node is:
 * scene_far and .data lie far from the rest, and something else may lie between.
 */
#include <string.h>
#include <sys/mman.h>

#include "agent/unwind/unwind.h"
#include "compare.h"
#include "scenes.h"

#define PAGE 4096ul

extern const char __ehdr_start[], _end[];

__attribute__((noinline, section("scene_far"))) static int far(int depth)
{
	volatile int result = 1;

	if (depth == 0)
		compare_stack("another segment", COMPARE_ALL);
	else
		result += far(depth - 1);
	return result;
}

static void check_module(const void *address, const char *what)
{
	struct unwind_module module;

	compare_expect(unwind_module_at((uint64_t)address, &module) &&
			       module.start == (uint64_t)__ehdr_start &&
			       module.end >= (uint64_t)_end && module.end < (uint64_t)_end + PAGE &&
			       module.path[0] == 0 && module.eh_frame_hdr &&
			       memcmp((const void *)module.start, "\177ELF", 4) == 0,
		       what);
}

/* Memory between two segments, if there is any: code that is not the program's. */
static void check_hole(void)
{
	char *page = (char *)(((uint64_t)__ehdr_start + (uint64_t)far) / 2 & -PAGE);
	struct unwind_module module;

	if ((uint64_t)page < (uint64_t)__ehdr_start + (64ul << 20))
		return;
	page = mmap(page, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	compare_expect(page != MAP_FAILED, "a page between two segments");
	compare_expect(!unwind_module_at((uint64_t)page + 16, &module),
		       "what lies between two segments is not the module");
	munmap(page, PAGE);
}

void scenes_segments(void)
{
	far(0);
	far(10);
	check_module((const void *)scenes_segments, "the program's module");
	check_module((const void *)far, "the program's module, by another segment");
	check_hole();
}
