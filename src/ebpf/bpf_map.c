#include "ebpf/bpf_map.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

/* How many entries of a table one system call reads. */
#define BATCH 65536

void map_batch_deinit(struct map_batch *batch)
{
	free(batch->keys);
	free(batch->values);
}

struct err *map_batch_init(struct map_batch *batch, int map, size_t key, size_t value)
{
	*batch = (struct map_batch){.map = map};
	batch->keys = calloc(BATCH, key);
	batch->values = calloc(BATCH, value);
	return batch->keys && batch->values ? NULL : err_no_memory();
}

struct err *map_batch_next(struct map_batch *batch)
{
	const struct bpf_map_batch_opts options = {.sz = sizeof(options)};
	int status;

	batch->count = BATCH;
	status = bpf_map_lookup_batch(batch->map, batch->begun ? &batch->at : NULL, &batch->at,
				      batch->keys, batch->values, &batch->count, &options);
	batch->begun = true;
	if (status < 0 && errno != ENOENT)
		return err_create_errno(errno, "reading the table of live blocks");
	batch->over = status < 0;
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
