#include "ebpf/kernel/page_flags.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/kernel-page-flags.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/compiler.h"
#include "ebpf/bpf/kernel_shared.h"
#include "ebpf/bpf_support.h"
#include "hosted/page_size.h"
#include "hosted/cleanup.h"
#include "hosted/map.h"
// Made by bpftool out of bpf/page_places.bpf.c; it names types of kernel_shared.h.
#include <page_places.skel.h>

/* Pages that are read at once. */
#define NEIGHBOURS 512

#ifndef KPF_PGTABLE
#define KPF_PGTABLE 26
#endif

struct neighbours {
	struct neighbours *next;
	uint8_t use[NEIGHBOURS]; /* enum page_use */
};

struct page_flags {
	int file;       /* -1: none */
	struct map map; /* frame / NEIGHBOURS: address of the struct neighbours */
	struct neighbours *all;
};

struct err *page_flags_create(struct page_flags **ret)
{
	struct page_flags *flags = calloc(1, sizeof(*flags));

	if (!flags)
		return err_no_memory();
	flags->file = open("/proc/kpageflags", O_RDONLY | O_CLOEXEC);
	*ret = flags;
	return NULL;
}

void page_flags_destroy(struct page_flags *flags)
{
	if (!flags)
		return;
	while (flags->all) {
		struct neighbours *next = flags->all->next;

		free(flags->all);
		flags->all = next;
	}
	map_deinit(&flags->map);
	if (flags->file >= 0)
		close(flags->file);
	free(flags);
}

static enum page_use use_of(uint64_t flags)
{
	const struct {
		int flag;
		enum page_use use;
	} uses[] = {
		{KPF_NOPAGE, PAGE_UNKNOWN},
		{KPF_BUDDY, PAGE_FREE},
		{KPF_SLAB, PAGE_SLAB},
		{KPF_PGTABLE, PAGE_TABLE},
		{KPF_ANON, PAGE_PROGRAM},
		{KPF_HUGE, PAGE_PROGRAM},
		{KPF_LRU, PAGE_FILE},
		{KPF_MMAP, PAGE_FILE},
		{KPF_COMPOUND_TAIL, PAGE_SLAB_PART},
	};

	for (size_t i = 0; i < ARRAY_COUNT(uses); i++)
		if (flags >> uses[i].flag & 1)
			return uses[i].use;
	return PAGE_KERNEL;
}

/* NULL: no memory. */
static struct neighbours *read_neighbours(struct page_flags *flags, uint64_t number)
{
	struct neighbours *found = malloc(sizeof(*found));
	uint64_t words[NEIGHBOURS];
	ssize_t size;

	if (!found)
		return NULL;
	size = pread(flags->file, words, sizeof(words), (off_t)(number * sizeof(words)));
	for (size_t i = 0; i < NEIGHBOURS; i++)
		found->use[i] = (ssize_t)(i * 8) < size ? (uint8_t)use_of(words[i]) : PAGE_UNKNOWN;
	found->next = flags->all;
	flags->all = found;
	return found;
}

enum page_use page_flags_use(struct page_flags *flags, uint64_t frame)
{
	struct neighbours *found;
	uint64_t *at;

	if (flags->file < 0)
		return PAGE_UNKNOWN;
	at = map_put(&flags->map, frame / NEIGHBOURS);
	if (!at)
		return PAGE_UNKNOWN;
	if (*at == MAP_NONE) {
		found = read_neighbours(flags, frame / NEIGHBOURS);
		if (!found) {
			map_remove(&flags->map, frame / NEIGHBOURS);
			return PAGE_UNKNOWN;
		}
		*at = (uint64_t)(uintptr_t)found;
	}
	found = (struct neighbours *)(uintptr_t)*at;
	return (enum page_use)found->use[frame % NEIGHBOURS];
}

uint64_t page_flags_frames(void)
{
	auto_fclose FILE *file = fopen("/proc/zoneinfo", "re");
	uint64_t spanned = 0, end = 0, value;
	char line[256];

	// In each zone: "spanned N" comes before "start_pfn: N".
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, " spanned %" SCNu64, &value) == 1)
			spanned = value;
		else if (sscanf(line, " start_pfn: %" SCNu64, &value) == 1 && spanned &&
			 value + spanned > end)
			end = value + spanned;
	}
	return end;
}

#define TRIES          8
#define PIECES         1024 /* of a readv(): the kernel takes 16 bytes for each by kmalloc() */
#define FRAME_OF(word) ((word) & ((1ull << 55) - 1))

/* The number of our page's frame. 0: unknown. */
static uint64_t frame_of(int pagemap, const void *address)
{
	uint64_t word;
	off_t at = (off_t)((uintptr_t)address / page_size() * 8);

	return pread(pagemap, &word, sizeof(word), at) == sizeof(word) ? FRAME_OF(word) : 0;
}

/* Two of several tries must agree: an interrupt takes pages in our name, too. */
static void find_page_base(const struct page_places *places, struct kernel_places *ret)
{
	auto_close int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	char *memory = mmap(NULL, TRIES * page_size(), PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t found[TRIES];

	if (memory == MAP_FAILED)
		return;
	// Small pages, one at a time.
	madvise(memory, TRIES * page_size(), MADV_NOHUGEPAGE);
	for (int i = 0; pagemap >= 0 && i < TRIES && !ret->page_base; i++) {
		volatile char *page = memory + i * page_size();
		uint64_t frame;

		*page = 1;
		frame = frame_of(pagemap, memory + i * page_size());
		found[i] = frame ? places->page - frame * places->page_size : 0;
		for (int j = 0; found[i] && j < i; j++)
			if (found[j] == found[i])
				ret->page_base = found[i];
	}
	ret->page_size = places->page_size;
	munmap(memory, TRIES * page_size());
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
			   (places->object_page - ret->page_base) / ret->page_size * page_size();
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
	bpf->rodata->page_bytes = (uint32_t)page_size();
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
