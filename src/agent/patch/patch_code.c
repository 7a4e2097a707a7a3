#include "agent/patch/patch_code.h"

#include <assert.h>
#include <fcntl.h>

#include "agent/arch/syscall.h"
#include "agent/ground/own_memory.h"
#include "agent/ground/own_place.h"
#include "base/compiler.h"

#define CELL_SIZE  256u
#define AREA_CELLS 256u
#define AREA_SIZE  (CELL_SIZE * AREA_CELLS)
#define AREAS      64

static_assert(sizeof(struct patched) <= CELL_SIZE, "a cell holds it");
static_assert(offsetof(struct patched, moved) == 40, "arch/x86_64/patched_entry.c");

/* Memory for cells. Published by the count of areas, and never unmapped. */
struct area {
	uint64_t start;
	uint32_t used;             /* cells */
	uint32_t gone[AREA_CELLS]; /* when a cell was given back, counted from 1; 0: it was not */
};

static struct area areas[AREAS];
static uint32_t area_count; // atomic
static uint32_t gone_count;
static const char *own_file;

void patch_code_begin(const char *own_path)
{
	own_file = own_path;
}

static uint64_t map_area(uint64_t address)
{
	int fd = own_file ? sys_open(own_file, O_RDONLY | O_CLOEXEC, 0) : -1;
	struct kernel_stat status;
	void *memory = NULL;

	if (fd >= 0 && !sys_fstat(fd, &status) && (uint64_t)status.st_size >= AREA_SIZE)
		memory = own_place_map_near(address, AREA_SIZE, fd, 0);
	if (fd >= 0)
		sys_close(fd);
	if (!memory)
		memory = own_place_map_near(address, AREA_SIZE, -1, 0);
	if (memory)
		own_memory_note(memory, AREA_SIZE);
	return (uint64_t)memory;
}

static bool is_near(const struct area *area, uint64_t address)
{
	return area->start - address + OWN_PLACE_NEAR < 2 * OWN_PLACE_NEAR;
}

static struct patched *cell_of(const struct area *area, uint32_t number)
{
	return (struct patched *)(area->start + number * CELL_SIZE);
}

/* The cell that was given back first, of those near the address. */
static struct patched *take_back(uint64_t address)
{
	struct patched *oldest = NULL;
	uint32_t *when = NULL;

	for (uint32_t i = 0; i < area_count; i++)
		for (uint32_t j = 0; j < areas[i].used && is_near(&areas[i], address); j++)
			if (areas[i].gone[j] && (!when || areas[i].gone[j] < *when)) {
				oldest = cell_of(&areas[i], j);
				when = &areas[i].gone[j];
			}
	if (when)
		*when = 0;
	return oldest;
}

struct patched *patch_code_cell(uint64_t address)
{
	struct patched *cell = gone_count ? take_back(address) : NULL;
	struct area *area = areas;
	uint32_t count = area_count;

	if (cell)
		return cell;
	while (area < areas + count && !(area->used < AREA_CELLS && is_near(area, address)))
		area++;
	if (area == areas + AREAS)
		return NULL;
	if (area == areas + count) {
		area->start = map_area(address);
		if (!area->start)
			return NULL;
		__atomic_store_n(&area_count, count + 1, __ATOMIC_RELEASE);
	}
	return cell_of(area, area->used++);
}

void patch_code_give_back(struct patched *cell)
{
	for (uint32_t i = 0; i < area_count; i++)
		if ((uint64_t)cell - areas[i].start < AREA_SIZE)
			areas[i].gone[((uint64_t)cell - areas[i].start) / CELL_SIZE] = ++gone_count;
}

bool patch_code_write(void *at, const void *bytes, size_t size)
{
	int fd = sys_open("/proc/self/mem", O_RDWR | O_CLOEXEC, 0);
	bool done = fd >= 0 && sys_pwrite(fd, bytes, size, (uint64_t)at) == (long)size;

	if (fd >= 0)
		sys_close(fd);
	return done;
}

const struct patched *patch_code_find(uint64_t pc)
{
	uint32_t count = __atomic_load_n(&area_count, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < count; i++) {
		uint64_t offset = pc - areas[i].start;

		if (offset < AREA_SIZE && offset / CELL_SIZE < areas[i].used)
			return cell_of(&areas[i], (uint32_t)(offset / CELL_SIZE));
	}
	return NULL;
}
