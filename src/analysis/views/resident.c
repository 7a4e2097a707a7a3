#include "analysis/views/resident.h"

#include <sys/mman.h>

#include "hosted/cleanup.h"

#include "symbols/elf_image.h"
#include "symbols/program_file.h"

/* What blocks of one size cost beside their bytes; of a site, by the mean. */
static uint64_t cost_of(uint64_t bytes, uint64_t blocks)
{
	uint64_t each = blocks && bytes / blocks >= RESIDENT_LARGE_BLOCK ? RESIDENT_LARGE_COST
									 : RESIDENT_BLOCK_COST;

	return blocks * each;
}

/*
 * What blocks took at most, each site at its own peak: allocators keep what was freed, and seldom
 * use all of it for blocks of other sizes. *least: all of them at the recording's peak.
 */
static uint64_t bound_blocks(const struct recording *recording, uint64_t *least)
{
	const struct recording_facts *facts = recording_facts(recording);
	const struct recording_summary *sum = recording_summary(recording);
	uint32_t count, threads;
	const struct site *sites = recording_sites(recording, &count);
	uint64_t most = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct site *site = &sites[i];
		uint64_t mean = site->calls ? site->total_bytes / site->calls : 0;
		uint64_t blocks = mean ? site->own_peak_bytes / mean : site->calls;

		most += site->own_peak_bytes + cost_of(site->own_peak_bytes, blocks);
	}
	*least = sum->peak_bytes + cost_of(sum->peak_bytes, sum->peak_blocks);
	recording_threads(recording, &threads);
	// Each thread may have an arena, which keeps what it had at its own peak.
	if (threads > 1)
		most *= 2;
	return most + facts->culled_bytes + 16 * facts->sample_mean;
}

/* How many threads there were at once: a thread that ended leaves its stream to the next. */
static uint64_t threads_at_once(const struct recording *recording)
{
	uint32_t count;
	const struct recorded_thread *threads = recording_threads(recording, &count);
	uint32_t most = 0;

	for (uint32_t i = 0; i < count; i++)
		if (threads[i].stream > most)
			most = threads[i].stream;
	return most;
}

/* Bytes by which the program itself moved the end of its data segment. */
static uint64_t moved_break(const struct recording *recording)
{
	uint32_t count;
	const struct mapping_operation *calls = recording_mappings(recording, &count);
	uint64_t at = 0, moved = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (calls[i].kind != TRACE_RECORD_BRK)
			continue;
		if (calls[i].increment > 0)
			moved += (uint64_t)calls[i].increment;
		else if (!calls[i].increment && at && calls[i].address > at)
			moved += calls[i].address - at;
		at = calls[i].address;
	}
	return moved;
}

/* Private mappings of files: pages that the program writes to are anonymous. */
static uint64_t private_files(const struct recording *recording)
{
	uint32_t count;
	const struct mapping_operation *calls = recording_mappings(recording, &count);
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < count; i++)
		if (calls[i].kind == TRACE_RECORD_MMAP && calls[i].flags & MAP_PRIVATE &&
		    !(calls[i].flags & MAP_ANONYMOUS) && calls[i].protection & PROT_WRITE)
			bytes += calls[i].length;
	return bytes;
}

/* How much of a module is data: static variables, tables that the loader fills. */
static uint64_t data_of(const struct recorded_module *module)
{
	cleanup(elf_image_close_at) struct elf_image *image = NULL;
	uint64_t bytes = 0;
	size_t count = 0;
	struct err *err;

	if (!program_file_exists(module->path))
		return 0;
	err = program_file_open(module->path, module->build_id, module->build_id_size, &image);
	// Of a file that is not here all may be.
	if (err || elf_getphdrnum(image->elf, &count)) {
		err_destroy(err);
		return module->end - module->start;
	}
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr header;

		if (gelf_getphdr(image->elf, (int)i, &header) && header.p_type == PT_LOAD &&
		    header.p_flags & PF_W)
			bytes += header.p_memsz;
	}
	return bytes;
}

/* Of all modules; generations of a file have one place. */
static uint64_t static_data(const struct recording *recording)
{
	uint32_t count;
	const struct recorded_module *modules = recording_modules(recording, &count);
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < count; i++)
		if (!modules[i].generation)
			bytes += data_of(&modules[i]);
	return bytes;
}

static uint64_t above(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static uint64_t enough(uint64_t bytes, uint64_t anonymous)
{
	uint64_t least = anonymous / 100 * RESIDENT_PERCENT;

	least = least > RESIDENT_LEAST ? least : RESIDENT_LEAST;
	return bytes > least ? bytes : 0;
}

/* All of the process's memory is its own, and was recorded from the start. */
static bool is_whole(const struct recording_facts *facts)
{
	return !facts->begun_by_fork && !facts->begun_by_start && !facts->attached &&
	       !facts->off_periods && !facts->live && !facts->filtered && !facts->processes &&
	       !facts->lost && !facts->missing_chunks && !facts->damaged_chunks;
}

void resident_compare(const struct recording *recording, const struct map_sites *sites,
		      struct resident *ret)
{
	struct resident found = {0};
	uint32_t count;
	const struct memory_sample *memory = recording_memory(recording, &count);
	const struct map_sum *of = sites->of;
	uint64_t most, beyond, own, others;

	*ret = found;
	if (!count || !is_whole(recording_facts(recording)))
		return;
	found.known = true;
	for (uint32_t i = 0; i < count; i++) {
		if (memory[i].anonymous < found.anonymous)
			continue;
		found.anonymous = memory[i].anonymous;
		found.at_ns = memory[i].time_ns;
	}
	most = bound_blocks(recording, &found.blocks);
	own = of[MAP_KIND_MEMORY].peak_bytes + of[MAP_KIND_RESERVED].peak_bytes;
	beyond = enough(above(found.anonymous, found.blocks), found.anonymous);
	found.mapped = enough(beyond < own ? beyond : own, found.anonymous);
	others = of[MAP_KIND_STACK].peak_bytes + of[MAP_KIND_LANGUAGE].peak_bytes +
		 of[MAP_KIND_LIBRARY].peak_bytes + moved_break(recording) +
		 private_files(recording) + RESIDENT_FIRST_STACK +
		 threads_at_once(recording) * RESIDENT_THREAD_STACK;
	found.unexplained = enough(above(found.anonymous, most + own + others), found.anonymous);
	if (found.unexplained) // files are read only where it matters
		found.unexplained =
			enough(above(found.anonymous, most + own + others + static_data(recording)),
			       found.anonymous);
	*ret = found;
}

struct err *resident_unexplained(const struct recording *recording, uint64_t *ret)
{
	cleanup(map_sites_deinit) struct map_sites sites = {0};
	struct resident resident;
	struct err *err = map_sites_create_all(recording, NULL, &sites);

	if (err)
		return err;
	resident_compare(recording, &sites, &resident);
	*ret = resident.unexplained;
	return NULL;
}

struct err *resident_unseen(const struct recording *recording, struct symbolized *symbolized,
			    uint64_t *ret)
{
	cleanup(map_sites_deinit) struct map_sites sites = {0};
	struct err *err = map_sites_create_all(recording, symbolized, &sites);
	struct resident resident;
	uint64_t others, beyond;

	if (err)
		return err;
	resident_compare(recording, &sites, &resident);
	beyond = resident.mapped + resident.unexplained;
	others = sites.of[MAP_KIND_LANGUAGE].peak_bytes + moved_break(recording);
	if (others > above(resident.anonymous, resident.blocks + beyond))
		others = above(resident.anonymous, resident.blocks + beyond);
	beyond = enough(beyond + others, resident.anonymous);
	*ret = beyond > resident.blocks ? beyond : 0;
	return NULL;
}
