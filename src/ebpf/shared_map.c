#include "ebpf/shared_map.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <sys/mman.h>

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
