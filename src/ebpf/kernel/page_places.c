#include "ebpf/kernel/page_places.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "ebpf/bpf/kernel_shared.h"
#include "ebpf/bpf_support.h"
#include "hosted/cleanup.h"
// Made by bpftool out of bpf/page_places.bpf.c; it names types of kernel_shared.h.
#include <page_places.skel.h>

#define PAGE           4096
#define TRIES          8
#define PIECES         1024 /* of a readv(): the kernel takes 16 bytes for each by kmalloc() */
#define FRAME_OF(word) ((word) & ((1ull << 55) - 1))

/* The number of our page's frame. 0: unknown. */
static uint64_t frame_of(int pagemap, const void *address)
{
	uint64_t word;
	off_t at = (off_t)((uintptr_t)address / PAGE * 8);

	return pread(pagemap, &word, sizeof(word), at) == sizeof(word) ? FRAME_OF(word) : 0;
}

/* Of several tries two have to agree: an interrupt takes pages in our name, too. */
static void find_page_base(const struct page_places *places, struct kernel_places *ret)
{
	auto_close int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	char *memory = mmap(NULL, TRIES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);
	uint64_t found[TRIES];

	if (memory == MAP_FAILED)
		return;
	// Small pages, one at a time.
	madvise(memory, TRIES * PAGE, MADV_NOHUGEPAGE);
	for (int i = 0; pagemap >= 0 && i < TRIES && !ret->page_base; i++) {
		volatile char *page = memory + i * PAGE;
		uint64_t frame;

		*page = 1;
		frame = frame_of(pagemap, memory + i * PAGE);
		found[i] = frame ? places->page - frame * places->page_size : 0;
		for (int j = 0; found[i] && j < i; j++)
			if (found[j] == found[i])
				ret->page_base = found[i];
	}
	ret->page_size = places->page_size;
	munmap(memory, TRIES * PAGE);
}

static void find_direct_base(const struct page_places *places, struct kernel_places *ret)
{
	auto_close int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	static struct iovec pieces[PIECES];
	uint64_t found[TRIES];

	for (int i = 0; ret->page_base && i < TRIES && !ret->direct_base; i++) {
		if (readv(null, pieces, PIECES) < 0)
			return;
		found[i] = places->object -
			   (places->object_page - ret->page_base) / ret->page_size * PAGE;
		for (int j = 0; places->object && j < i; j++)
			if (found[j] == found[i])
				ret->direct_base = found[i];
	}
}

struct err *page_places_find(struct kernel_places *ret)
{
	struct page_places_bpf *bpf = page_places_bpf__open();
	struct err *err;

	*ret = (struct kernel_places){0};
	if (!bpf)
		return err_create_errno(errno, "the BPF programs");
	bpf->rodata->thread = (uint32_t)syscall(SYS_gettid);
	err = bpf_support_load(bpf->skeleton);
	if (!err && page_places_bpf__attach(bpf))
		err = err_create_errno(errno, "the tracepoints of pages");
	if (!err) {
		find_page_base(&bpf->bss->places, ret);
		find_direct_base(&bpf->bss->places, ret);
	}
	page_places_bpf__destroy(bpf);
	return err;
}
