#include "ebpf/bpf_map.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "hosted/cleanup.h"

/* How many entries of a table one system call reads. */
#define BATCH 65536

struct err *bpf_map_each(int map, size_t key, size_t value, bpf_map_entry *each, void *argument)
{
	const struct bpf_map_batch_opts options = {.sz = sizeof(options)};
	auto_free uint8_t *keys = calloc(BATCH, key), *values = calloc(BATCH, value);
	uint64_t at; // the kernel's position
	bool begun = false, over = false;

	if (!keys || !values)
		return err_no_memory();
	while (!over) {
		uint32_t count = BATCH;

		over = bpf_map_lookup_batch(map, begun ? &at : NULL, &at, keys, values, &count,
					    &options) < 0;
		begun = true;
		if (over && errno != ENOENT)
			return err_create_errno(errno, "reading the table of live blocks");
		for (uint32_t i = 0; i < count; i++) {
			struct err *err = each(argument, keys + i * key, values + i * value);

			if (err)
				return err;
		}
	}
	return NULL;
}

struct err *shared_map_init(struct shared_map *shared, const struct bpf_map *map, size_t size)
{
	size_t pages = (size + 4095) & ~(size_t)4095;
	void *address = mmap(NULL, pages, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);

	if (address == MAP_FAILED)
		return err_create_errno(errno, "shared memory of a BPF map");
	*shared = (struct shared_map){address, pages};
	return NULL;
}

void shared_map_deinit(struct shared_map *shared)
{
	if (shared->address)
		munmap(shared->address, shared->size);
	*shared = (struct shared_map){0};
}
