#include "agent/patch/patch.h"

#include <link.h>

#include "agent/arch/kept_call.h"
#include "agent/event/thread.h"
#include "agent/ground/clock.h"
#include "agent/ground/config.h"
#include "agent/ground/file_name.h"
#include "agent/ground/libc.h"
#include "agent/ground/link_map.h"
#include "agent/ground/lock.h"
#include "agent/ground/next_functions.h"
#include "agent/ground/own_pages.h"
#include "agent/ground/signal_bracket.h"
#include "agent/patch/patch_code.h"
#include "agent/patch/patch_object.h"
#include "agent/record/fact_record.h"

#define OBJECTS_MAX 2048 /* objects that are loaded at once; later ones are not looked at */

/* An object that was looked at. */
struct seen {
	const struct link_map *map;
	const void *dynamic;
	uint64_t bias;
};

extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));

const struct patch_hooks *patch_hooks;

static uint32_t patch_lock;
static struct seen *seen; // an array of OBJECTS_MAX
static uint32_t seen_count;
static struct patch_report *reports; // atomic

/* That of an object that is gone, or a new one, which is put into the list. NULL: no memory. */
static struct patch_report *take_report(void)
{
	struct patch_report *report = reports;

	while (report && report->map)
		report = report->next;
	if (report)
		return report;
	report = own_pages_allocate(sizeof(*report));
	if (!report)
		return NULL;
	report->next = reports;
	__atomic_store_n(&reports, report, __ATOMIC_RELEASE);
	return report;
}

/*
 * The C library and its loader, known without a look at their symbols: all that they have comes to
 * our hooks by its name.
 */
static bool is_c_library(const struct link_map *map)
{
	uint64_t start, end;

	return link_map_range(map, &start, &end) &&
	       ((uint64_t)real.execve - start < end - start || real.loader_start == start);
}

static void forget_report(struct patch_report *report)
{
	for (uint32_t i = 0; i < report->cell_count; i++)
		patch_code_give_back(report->cells[i]);
	report->cell_count = 0;
	report->map = NULL;
}

/* Whether the object's functions are still patched: another one may lie where it was. */
static bool is_still_patched(const struct link_map *map)
{
	for (const struct patch_report *report = reports; report; report = report->next)
		if (report->map == map && report->cell_count) {
			const struct patched *cell = report->cells[0];

			return ((const uint8_t *)cell->entry)[cell->jump] == ENTRY_JUMP_CODE;
		}
	return true;
}

static void forget(const void *map)
{
	for (struct patch_report *report = reports; report; report = report->next)
		if (report->map == map)
			forget_report(report);
	for (uint32_t i = 0; i < seen_count; i++)
		if (seen[i].map == map)
			seen[i--] = seen[--seen_count];
}

static bool is_seen(const struct link_map *map)
{
	for (uint32_t i = 0; i < seen_count; i++)
		if (seen[i].map == map)
			return seen[i].dynamic == map->l_ld && seen[i].bias == map->l_addr &&
			       is_still_patched(map);
	return false;
}

/*
 * Whether the loader is just opening the object: it has not relocated it yet, and no thread is in
 * its code. An object that was missed when it came stays as it is.
 */
static bool is_opening(const struct link_map *map)
{
	uint64_t object[16]; // _dl_find_object()'s struct dl_find_object

	return real.dl_find_object &&
	       kept_call((void *)real.dl_find_object, map->l_ld, object) != 0;
}

/* Looks at the objects that are new: they come last in the loader's list. Under the lock. */
static void look(bool at_start)
{
	for (const struct link_map *map = link_map_last(); map; map = map->l_prev) {
		if (is_seen(map)) {
			if (!at_start)
				return;
			continue;
		}
		forget(map);
		if (seen_count == OBJECTS_MAX)
			break;
		seen[seen_count++] = (struct seen){map, map->l_ld, map->l_addr};
		if (map->l_ld != _DYNAMIC && !is_c_library(map) && (at_start || is_opening(map)))
			patch_object(map, take_report);
	}
}

static void look_locked(void *at_start)
{
	if (!lock_wait(&patch_lock))
		return;
	look(at_start);
	lock_release(&patch_lock);
}

static bool is_on(void)
{
	return seen && !process_system_calls_forbidden();
}

void patch_begin(void)
{
	if (!config.value[SETTING_PATCH] || !patch_hooks || seen || !link_map_is_before_libc())
		return;
	patch_code_begin(link_map_own_path());
	if (patch_object_begin())
		seen = own_pages_allocate(OBJECTS_MAX * sizeof(*seen));
	if (is_on())
		signal_bracket_run(look_locked, &patch_lock); // not NULL: at the start
}

void patch_look(void)
{
	if (is_on())
		signal_bracket_run(look_locked, NULL);
}

static void forget_locked(void *map)
{
	if (!lock_wait(&patch_lock))
		return;
	forget(map);
	lock_release(&patch_lock);
}

void patch_forget(const void *link_map)
{
	if (is_on() && reports)
		signal_bracket_run(forget_locked, (void *)link_map);
}

void patch_tell(struct thread *thread, bool all)
{
	if (!reports || !lock_wait(&patch_lock))
		return;
	for (struct patch_report *report = reports; report; report = report->next) {
		struct fact_record record = {
			.kind = TRACE_RECORD_PATCHED,
			.has_time = true,
			.ticks = clock_ticks(),
			.text = report->bytes,
			.text_size = report->text.length + 1,
		};

		if (!report->map || (report->told && !all))
			continue;
		fact_record_add(&record, report->cell_count);
		fact_record_add(&record, report->refused);
		report->told = fact_record_write(thread, &record);
	}
	lock_release(&patch_lock);
}

bool patch_sees(const char *object)
{
	const char *path = *object ? object : program_path;

	for (const struct patch_report *report = __atomic_load_n(&reports, __ATOMIC_ACQUIRE);
	     report; report = report->next)
		if (report->map && report->cell_count && !report->refused &&
		    strcmp(report->bytes, path) == 0)
			return true;
	return false;
}

uint64_t patch_original(uint64_t pc)
{
	const struct patched *cell = patch_code_find(pc);
	uint64_t stub = cell ? pc - (uint64_t)cell->stub : ENTRY_STUB_SIZE;
	uint64_t offset = cell ? pc - (uint64_t)cell->moved : ENTRY_MOVED_SIZE;
	size_t step = 0;

	// Before the stub has taken back what was pushed; as at the function's entry; then as where
	// the stub leads to.
	if (stub < ENTRY_STUB_SIZE)
		return stub < cell->pushes    ? cell->entry + cell->jump
		       : stub == cell->pushes ? cell->entry
					      : (uint64_t)cell->enter;
	if (offset >= ENTRY_MOVED_SIZE)
		return pc;
	while (step + 1 < ENTRY_STEPS && cell->steps[step + 1].moved &&
	       cell->steps[step + 1].moved <= offset)
		step++;
	return cell->entry + cell->steps[step].original;
}
