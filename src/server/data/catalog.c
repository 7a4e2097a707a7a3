#include "server/data/catalog.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/names/anonymous.h"
#include "base/hex.h"
#include "hosted/cleanup.h"
#include "hosted/now.h"
#include "hosted/proc.h"
#include "server/data/catalog_data.h"
#include "server/data/recent.h"

/*
 * What is to be read on may be in use: by long answers, or because a client takes its answer
 * slowly. Until it is so old, others get it as it is. Then a request waits, once more for so long,
 * until nobody uses it. Then the recording is read from its start, beside what others have. That
 * takes about as long on a busy machine, and makes all answers slower: so it is the last thing to
 * do.
 */
#define PATIENCE_NS          UINT64_C(250000000)
#define PATIENCE_OF_EVENT_NS 1000

void catalog_entry_destroy(struct entry *entry)
{
	if (!entry)
		return;
	vec_deinit(&entry->members);
	dataset_release(entry->dataset);
	growing_close(entry->growing);
	pthread_mutex_destroy(&entry->lock);
	pthread_mutex_destroy(&entry->summary_lock);
	free(entry->summary);
	free((char *)entry->item.path);
	free(entry);
}

struct err *catalog_create(const struct catalog_options *options, struct catalog **ret)
{
	struct catalog *catalog = calloc(1, sizeof(*catalog));

	if (!catalog)
		return err_no_memory();
	catalog->options = *options;
	pairs_init(&catalog->pairs);
	pthread_mutex_init(&catalog->lock, NULL);
	pthread_mutex_init(&catalog->look_lock, NULL);
	*ret = catalog;
	return NULL;
}

const struct catalog_options *catalog_options(const struct catalog *catalog)
{
	return &catalog->options;
}

void catalog_destroy(struct catalog *catalog)
{
	if (!catalog)
		return;
	pairs_deinit(&catalog->pairs);
	for (size_t i = 0; i < catalog->entries.count; i++)
		catalog_entry_destroy(catalog->entries.items[i]);
	for (size_t i = 0; i < catalog->families.count; i++)
		catalog_entry_destroy(catalog->families.items[i]);
	vec_deinit(&catalog->families);
	vec_deinit(&catalog->entries);
	vec_deinit(&catalog->open);
	pthread_mutex_destroy(&catalog->lock);
	pthread_mutex_destroy(&catalog->look_lock);
	free(catalog);
}

/* Whether the file is in the list. Call it under the lock. */
static bool is_known(const struct catalog *catalog, const char *path)
{
	for (size_t i = 0; i < catalog->entries.count; i++)
		if (strcmp(catalog->entries.items[i]->item.path, path) == 0)
			return true;
	return false;
}

struct entry *catalog_entry_create(const char *path)
{
	struct entry *entry = calloc(1, sizeof(*entry));

	if (!entry)
		return NULL;
	pthread_mutex_init(&entry->lock, NULL);
	pthread_mutex_init(&entry->summary_lock, NULL);
	entry->item.path = strdup(path);
	if (!entry->item.path) {
		catalog_entry_destroy(entry);
		return NULL;
	}
	return entry;
}

struct err *catalog_add(struct catalog *catalog, const char *path)
{
	static const uint8_t no_id[16];
	struct trace_header header;
	struct err *err = NULL;
	struct entry *entry;
	bool known;

	pthread_mutex_lock(&catalog->lock);
	known = is_known(catalog, path);
	pthread_mutex_unlock(&catalog->lock);
	if (known)
		return NULL;
	err = catalog_read_header(path, &header);
	if (err)
		return err;
	entry = catalog_entry_create(path);
	if (!entry)
		return err_no_memory();
	hex_put(entry->item.id, header.id, sizeof(header.id));
	if (memcmp(header.parent_id, no_id, sizeof(no_id)))
		hex_put(entry->parent, header.parent_id, sizeof(header.parent_id));
	pthread_mutex_lock(&catalog->lock);
	if (!vec_push(&catalog->entries, entry))
		err = err_no_memory();
	pthread_mutex_unlock(&catalog->lock);
	if (err)
		catalog_entry_destroy(entry);
	return err;
}

void catalog_watch(struct catalog *catalog, catalog_look *look, void *argument)
{
	catalog->look = look;
	catalog->argument = argument;
}

void catalog_look_for_new(struct catalog *catalog)
{
	if (!catalog->look)
		return;
	pthread_mutex_lock(&catalog->look_lock);
	catalog->look(catalog->argument, catalog);
	pthread_mutex_unlock(&catalog->look_lock);
}

size_t catalog_count(struct catalog *catalog)
{
	size_t count;

	catalog_look_for_new(catalog);
	pthread_mutex_lock(&catalog->lock);
	count = catalog->entries.count;
	pthread_mutex_unlock(&catalog->lock);
	return count;
}

bool catalog_listen(struct catalog *catalog)
{
	if (__atomic_add_fetch(&catalog->listeners, 1, __ATOMIC_RELAXED) <= CATALOG_LISTENERS)
		return true;
	catalog_unlisten(catalog);
	return false;
}

void catalog_unlisten(struct catalog *catalog)
{
	__atomic_sub_fetch(&catalog->listeners, 1, __ATOMIC_RELAXED);
}

void catalog_adopt(struct catalog *catalog, struct entry *entry, const struct recording *recording)
{
	pthread_mutex_lock(&catalog->lock);
	memcpy(entry->item.id, recording_facts(recording)->id, sizeof(entry->item.id));
	memcpy(entry->parent, recording_facts(recording)->parent_id, sizeof(entry->parent));
	pthread_mutex_unlock(&catalog->lock);
}

static uint64_t patience_ns(const struct dataset *dataset)
{
	uint64_t ns = dataset->facts->events * PATIENCE_OF_EVENT_NS;

	return ns > PATIENCE_NS ? ns : PATIENCE_NS;
}

/* Waits until nobody uses the entry's data set. false: that would take too long. */
static bool wait_until_unused(const struct entry *entry)
{
	const struct timespec time = {.tv_nsec = 1000000};
	uint64_t begun = now_ns(), patience = patience_ns(entry->dataset);

	// Who else is in a request has the data set already, and needs no lock of the entry.
	while (!dataset_is_unused(entry->dataset)) {
		if (now_ns() - begun > patience)
			return false;
		nanosleep(&time, NULL);
	}
	return true;
}

/* Whether the data set will do although there is something new. Call it under the entry's lock. */
static bool stale_will_do(struct catalog *catalog, const struct entry *entry)
{
	struct dataset *dataset = entry->dataset;

	if (!dataset_grows(dataset))
		return false;
	pairs_drop(&catalog->pairs, dataset);
	return !dataset_is_unused(dataset) && now_ns() - entry->opened.at_ns < patience_ns(dataset);
}

/* A recording_progress. argument: the entry whose recording is read. */
static void note_progress(void *argument, uint64_t done, uint64_t total)
{
	struct entry *entry = argument;

	__atomic_store_n(&entry->read, done, __ATOMIC_RELAXED);
	__atomic_store_n(&entry->to_read, total, __ATOMIC_RELAXED);
}

void catalog_readings(struct catalog *catalog, catalog_reading *tell, void *argument)
{
	pthread_mutex_lock(&catalog->lock);
	for (size_t i = 0; i < catalog->entries.count; i++) {
		const struct entry *entry = catalog->entries.items[i];
		uint64_t total = __atomic_load_n(&entry->to_read, __ATOMIC_RELAXED);

		if (total)
			tell(argument, entry->item.id,
			     __atomic_load_n(&entry->read, __ATOMIC_RELAXED), total);
	}
	pthread_mutex_unlock(&catalog->lock);
}

/* Loads the recording again. Call it under the entry's lock. */
static struct err *reopen_entry(struct catalog *catalog, struct entry *entry)
{
	const struct dataset_options options = {
		.debug_paths = catalog->options.debug_paths,
		.anonymous = catalog->options.anonymous,
		.progress = note_progress,
		.argument = entry,
	};
	struct reading reading = {0};
	struct dataset *dataset;
	struct seen seen;
	struct err *err = catalog_see(entry->item.path, &seen);

	if (err)
		return err;
	if (entry->dataset && dataset_grows(entry->dataset)) {
		pairs_drop(&catalog->pairs, entry->dataset);
		if (wait_until_unused(entry))
			reading = dataset_end(steal(&entry->dataset));
	}
	err = dataset_open(entry->item.path, &options, &reading, &dataset);
	note_progress(entry, 0, 0);
	if (err)
		return err;
	catalog_adopt(catalog, entry, dataset->recording);
	seen.writing = dataset->facts->writing;
	dataset_release(entry->dataset);
	entry->dataset = dataset;
	entry->opened = seen;
	return NULL;
}

/* Merges the family again. Call it under the entry's lock. */
static struct err *reopen_family(struct catalog *catalog, struct entry *entry)
{
	struct dataset *dataset;
	struct err *err = catalog_open_family(catalog, entry, &dataset);

	if (err)
		return err;
	if (entry->dataset)
		pairs_drop(&catalog->pairs, entry->dataset);
	dataset_release(entry->dataset);
	entry->dataset = dataset;
	return NULL;
}

static bool is_stale(struct catalog *catalog, struct entry *entry)
{
	if (catalog->options.still)
		return false;
	return entry->root ? catalog_family_is_stale(catalog, entry)
			   : catalog_is_stale(entry->item.path, &entry->opened);
}

/* Marks the entry as the latest one asked for. */
static struct err *use_entry(struct catalog *catalog, struct entry *entry)
{
	bool listed = true;
	size_t i;

	pthread_mutex_lock(&catalog->lock);
	for (i = 0; i < catalog->open.count && catalog->open.items[i] != entry; i++)
		;
	if (i == catalog->open.count)
		listed = vec_push(&catalog->open, entry);
	if (listed)
		recent_use(catalog->open.items, i);
	pthread_mutex_unlock(&catalog->lock);
	return listed ? NULL : err_no_memory();
}

/* The file of a live table goes with its process. Then the table is what it was last. */
static void note_end(const struct entry *entry)
{
	struct stat now;

	if (entry->dataset && entry->dataset->facts->live && entry->dataset->facts->writing &&
	    stat(entry->item.path, &now) < 0)
		dataset_note_end(entry->dataset);
}

static struct err *open_entry(struct catalog *catalog, struct entry *entry, struct dataset **ret)
{
	struct err *err = NULL;

	pthread_mutex_lock(&entry->lock);
	if (!entry->dataset || (is_stale(catalog, entry) && !stale_will_do(catalog, entry)))
		err = entry->root ? reopen_family(catalog, entry) : reopen_entry(catalog, entry);
	note_end(entry);
	if (!err)
		err = use_entry(catalog, entry);
	if (!err)
		*ret = dataset_hold(entry->dataset);
	pthread_mutex_unlock(&entry->lock);
	return err;
}

/*
 * Takes out the data set that was asked for longest ago and that nobody uses. NULL: there is none.
 * Call it under the lock.
 */
static struct dataset *take_unused(struct catalog *catalog)
{
	struct dataset *taken = NULL;

	for (size_t i = catalog->open.count; !taken && i-- > 1;) {
		struct entry *entry = catalog->open.items[i];

		// If somebody has the lock, the recording is being asked for.
		if (pthread_mutex_trylock(&entry->lock))
			continue;
		if (!entry->dataset || dataset_is_unused(entry->dataset)) {
			taken = steal(&entry->dataset);
			catalog->open.count--;
			memmove(&catalog->open.items[i], &catalog->open.items[i + 1],
				(catalog->open.count - i) * sizeof(entry));
		}
		pthread_mutex_unlock(&entry->lock);
	}
	return taken;
}

/* Whether more is open than options allow. Call it under the lock. */
static bool is_too_much(const struct catalog *catalog)
{
	const struct catalog_options *options = &catalog->options;
	size_t open = catalog->open.count;

	return open > options->max_open || (open > 1 && process_memory_own() > options->max_memory);
}

/* If there is still too much: drops the pairs, which keep their recordings open. */
static bool drop_pairs(struct catalog *catalog)
{
	bool too_much;

	pthread_mutex_lock(&catalog->lock);
	too_much = is_too_much(catalog);
	pthread_mutex_unlock(&catalog->lock);
	return too_much && pairs_drop(&catalog->pairs, NULL);
}

struct err *catalog_pair(struct catalog *catalog, struct dataset *after, struct dataset *before,
			 struct dataset **ret)
{
	return pairs_find(&catalog->pairs, after, before, ret);
}

void catalog_trim(struct catalog *catalog)
{
	struct dataset *taken;

	do {
		taken = NULL;
		pthread_mutex_lock(&catalog->lock);
		if (is_too_much(catalog))
			taken = take_unused(catalog);
		pthread_mutex_unlock(&catalog->lock);
		dataset_release(taken);
		// Its memory was in small pieces, which malloc() would keep for itself.
		if (taken)
			malloc_trim(0);
	} while (taken || drop_pairs(catalog));
}

static struct entry *find_entry(struct catalog *catalog, const char *id)
{
	struct entry *found = NULL;

	pthread_mutex_lock(&catalog->lock);
	if (strcmp(id, "last") == 0 && catalog->entries.count)
		found = catalog->entries.items[catalog->entries.count - 1];
	for (size_t i = 0; !found && i < catalog->entries.count; i++)
		if (strcmp(catalog->entries.items[i]->item.id, id) == 0)
			found = catalog->entries.items[i];
	pthread_mutex_unlock(&catalog->lock);
	return found;
}

/* Looks for new recordings, too. NULL: there is none of that id. */
static struct entry *find_entry_now(struct catalog *catalog, const char *id)
{
	struct entry *entry = strcmp(id, "last") == 0 ? NULL : find_entry(catalog, id);

	if (entry)
		return entry;
	catalog_look_for_new(catalog);
	return find_entry(catalog, id);
}

/* *ret: of a recording or a family; NULL: there is none. */
static struct err *find_entry_or_family(struct catalog *catalog, const char *id, struct entry **ret)
{
	size_t length = catalog_family_suffix(id);
	char own[sizeof((*ret)->item.id)];
	struct entry *member;

	if (!length || length >= sizeof(own)) {
		*ret = find_entry_now(catalog, id);
		return NULL;
	}
	memcpy(own, id, length);
	own[length] = 0;
	member = find_entry_now(catalog, own);
	return member ? catalog_find_family(catalog, member, ret) : NULL;
}

struct err *catalog_find(struct catalog *catalog, const char *id, struct dataset **ret)
{
	struct entry *entry = NULL;
	struct err *err = find_entry_or_family(catalog, id, &entry);

	*ret = NULL;
	return err || !entry ? err : open_entry(catalog, entry, ret);
}

/* Whether the entry has a data set that is up to date. If somebody has the lock, it is being made.
 */
static bool is_open_entry(struct entry *entry)
{
	bool open;

	if (pthread_mutex_trylock(&entry->lock))
		return false;
	open = entry->dataset && !catalog_is_stale(entry->item.path, &entry->opened);
	pthread_mutex_unlock(&entry->lock);
	return open;
}

struct err *catalog_find_index(struct catalog *catalog, const char *id, struct recording **ret)
{
	cleanup(recording_close_at) struct recording *recording = NULL;
	struct entry *entry = find_entry_now(catalog, id);
	struct trace_header header;
	struct err *err;

	*ret = NULL;
	if (!entry || is_open_entry(entry))
		return NULL;
	err = catalog_read_header(entry->item.path, &header);
	if (err || !(header.flags & TRACE_FINISHED))
		return err;
	err = recording_open(entry->item.path, RECORDING_SUMS, NULL, NULL, &recording);
	if (err)
		return err;
	catalog_adopt(catalog, entry, recording);
	if (catalog->options.anonymous)
		recording_anonymize(recording);
	*ret = steal(&recording);
	return NULL;
}
