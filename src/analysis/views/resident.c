#include "analysis/views/resident.h"

#include <string.h>

#include "base/preload.h"
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

/* How much of a module is data: static variables, tables that the loader fills. */
static uint64_t data_of(const struct recorded_module *module, uint32_t machine)
{
	cleanup(elf_image_close_at) struct elf_image *image = NULL;
	uint64_t bytes = 0;
	size_t count = 0;
	struct err *err;

	if (!program_file_exists(module->path))
		return 0;
	err = program_file_open(module->path, module->build_id, module->build_id_size, machine,
				&image);
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

/* The bytes of static data of all modules; generations of a file have one place. */
static uint64_t static_data(const struct recording *recording)
{
	uint32_t count;
	const struct recorded_module *modules = recording_modules(recording, &count);
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < count; i++)
		if (!modules[i].generation && !recorded_module_is_script(&modules[i]))
			bytes += data_of(&modules[i], recording_facts(recording)->machine);
	return bytes;
}

static uint64_t above(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static uint64_t enough(uint64_t bytes, uint64_t resident)
{
	uint64_t least = resident / 100 * RESIDENT_PERCENT;

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

/* Finds the sample with the most memory of the process's own. false: there is none. */
static bool find_most(const struct recording *recording, struct memory_sample *ret)
{
	uint32_t count;
	const struct memory_sample *memory = recording_memory(recording, &count);

	for (uint32_t i = 0; i < count; i++)
		if (!i || memory[i].anonymous + memory[i].shared >= ret->anonymous + ret->shared)
			*ret = memory[i];
	return count;
}

static void add_sum(struct map_sum *sum, const struct map_sum *more)
{
	sum->bytes += more->bytes;
	sum->mappings += more->mappings;
	sum->peak_bytes += more->peak_bytes;
	sum->left_bytes += more->left_bytes;
	sum->left += more->left;
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/*
 * What the program mapped itself. Reserved addresses, and copies of files, count as far as memory
 * is resident that the rest does not explain. mapped: of struct resident.
 */
static struct map_sum sum_own(const struct recording *recording, const struct map_sites *sites,
			      uint64_t mapped)
{
	const struct recording_facts *facts = recording_facts(recording);
	const struct map_sum *of = sites->of;
	struct map_sum sum = of[MAP_KIND_MEMORY], all;
	uint64_t most = facts->peak_resident;

	add_sum(&sum, &of[MAP_KIND_BREAK]);
	add_sum(&sum, &of[MAP_KIND_SHARED]);
	all = sum;
	add_sum(&all, &of[MAP_KIND_RESERVED]);
	add_sum(&all, &of[MAP_KIND_COPY]);
	// What was resident is known to the end only if somebody looked then.
	if (!most || !recording_facts_have_end(facts))
		most = UINT64_MAX;
	sum.peak_bytes = less(sum.peak_bytes, most);
	sum.left_bytes = less(sum.left_bytes, most);
	if (mapped <= sum.peak_bytes)
		return sum;
	all.peak_bytes = mapped;
	all.left_bytes = less(all.left_bytes, mapped);
	return all;
}

void resident_compare(const struct recording *recording, const struct map_sites *sites,
		      struct resident *ret)
{
	struct resident found = {0};
	struct memory_sample at = {0};
	const struct map_sum *of = sites->of;
	uint64_t most, shared, beyond, own, others, resident;

	if (!find_most(recording, &at) || !is_whole(recording_facts(recording))) {
		found.own = sum_own(recording, sites, 0);
		*ret = found;
		return;
	}
	found.known = true;
	found.at_ns = at.time_ns;
	found.resident = resident = at.anonymous + at.shared;
	most = bound_blocks(recording, &found.blocks);
	own = of[MAP_KIND_MEMORY].peak_bytes + of[MAP_KIND_RESERVED].peak_bytes +
	      of[MAP_KIND_BREAK].peak_bytes + of[MAP_KIND_COPY].peak_bytes +
	      of[MAP_KIND_ALLOCATOR].peak_bytes;
	shared = less(at.shared, of[MAP_KIND_SHARED].peak_bytes);
	beyond = above(at.anonymous, found.blocks);
	found.mapped = enough(less(beyond, own) + shared, resident);
	found.own =
		sum_own(recording, sites, above(found.mapped, of[MAP_KIND_ALLOCATOR].peak_bytes));
	others = of[MAP_KIND_STACK].peak_bytes + of[MAP_KIND_LANGUAGE].peak_bytes +
		 of[MAP_KIND_LIBRARY].peak_bytes + RESIDENT_FIRST_STACK +
		 threads_at_once(recording) * RESIDENT_THREAD_STACK;
	found.unexplained = enough(above(at.anonymous, most + own + others), resident);
	if (found.unexplained) // files are read only where it matters
		found.unexplained =
			enough(above(at.anonymous, most + own + others + static_data(recording)),
			       resident);
	*ret = found;
}

const char *resident_sanitizer(const struct recording *recording)
{
	uint32_t count;
	const struct recorded_module *modules = recording_modules(recording, &count);

	for (uint32_t i = 0; i < count; i++) {
		const char *name = preload_sanitizer(modules[i].path, strlen(modules[i].path));

		if (name)
			return name;
	}
	return "";
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
	beyond = resident.mapped;
	if (!*resident_sanitizer(recording))
		beyond += resident.unexplained;
	others = less(sites.of[MAP_KIND_LANGUAGE].peak_bytes,
		      above(resident.resident, resident.blocks + beyond));
	beyond = enough(beyond + others, resident.resident);
	*ret = beyond > resident.blocks ? beyond : 0;
	return NULL;
}
