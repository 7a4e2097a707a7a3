#include "server/catalog.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "hosted/byte_source.h"
#include "hosted/cleanup.h"
#include "hosted/now.h"
#include "hosted/vec.h"
#include "trace/header_check.h"

/* How long what is known of a recording that is being written is good for. */
#define FRESH_NS UINT64_C(1000000000)

struct entry {
	struct catalog_item item; /* path is owned */
	pthread_mutex_t lock;     /* of what follows; held while the recording is opened */
	struct dataset *dataset;
	struct stat status; /* of the file when it was opened */
	uint64_t opened_ns;
};

struct catalog {
	pthread_mutex_t lock; /* of the list; an entry stays where it is until the end */
	VEC(struct entry *) entries;
	pthread_mutex_t look_lock; /* taken before the other one */
	catalog_look *look;
	void *argument;
};

static void entry_destroy(struct entry *entry)
{
	dataset_release(entry->dataset);
	pthread_mutex_destroy(&entry->lock);
	free((char *)entry->item.path);
	free(entry);
}

struct err *catalog_create(struct catalog **ret)
{
	struct catalog *catalog = calloc(1, sizeof(*catalog));

	if (!catalog)
		return err_no_memory();
	pthread_mutex_init(&catalog->lock, NULL);
	pthread_mutex_init(&catalog->look_lock, NULL);
	*ret = catalog;
	return NULL;
}

void catalog_destroy(struct catalog *catalog)
{
	if (!catalog)
		return;
	for (size_t i = 0; i < catalog->entries.count; i++)
		entry_destroy(catalog->entries.items[i]);
	vec_deinit(&catalog->entries);
	pthread_mutex_destroy(&catalog->lock);
	pthread_mutex_destroy(&catalog->look_lock);
	free(catalog);
}

static struct err *read_header(const char *path, struct trace_header *ret)
{
	cleanup(byte_source_close) struct byte_source source = {.fd = -1};
	uint8_t head[sizeof(*ret)];
	struct err *err;
	size_t size;

	err = byte_source_open(path, &source);
	if (!err)
		err = byte_source_read(&source, 0, head, sizeof(head), &size);
	if (err)
		return err;
	switch (header_check(head, size, ret)) {
	case HEADER_VALID:
		return NULL;
	case HEADER_NEWER:
		return err_create("'%s' is a recording of a later version of mallow", path);
	case HEADER_CUT:
		return err_create("'%s' is a recording that is cut short within its header", path);
	default:
		return err_create("'%s' is not a recording", path);
	}
}

static void format_id(const uint8_t *id, char ret[33])
{
	for (size_t i = 0; i < 16; i++) {
		ret[2 * i] = "0123456789abcdef"[id[i] >> 4];
		ret[2 * i + 1] = "0123456789abcdef"[id[i] & 15];
	}
	ret[32] = 0;
}

/* Whether the file is in the list. Under the lock. */
static bool is_known(const struct catalog *catalog, const char *path)
{
	for (size_t i = 0; i < catalog->entries.count; i++)
		if (strcmp(catalog->entries.items[i]->item.path, path) == 0)
			return true;
	return false;
}

struct err *catalog_add(struct catalog *catalog, const char *path)
{
	struct trace_header header;
	struct err *err = NULL;
	struct entry *entry;
	bool known;

	pthread_mutex_lock(&catalog->lock);
	known = is_known(catalog, path);
	pthread_mutex_unlock(&catalog->lock);
	if (known)
		return NULL;
	err = read_header(path, &header);
	if (err)
		return err;
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return err_no_memory();
	pthread_mutex_init(&entry->lock, NULL);
	format_id(header.id, entry->item.id);
	entry->item.machine = (uint16_t)header.machine;
	entry->item.path = strdup(path);
	pthread_mutex_lock(&catalog->lock);
	if (!entry->item.path || !vec_push(&catalog->entries, entry))
		err = err_no_memory();
	pthread_mutex_unlock(&catalog->lock);
	if (err)
		entry_destroy(entry);
	return err;
}

void catalog_watch(struct catalog *catalog, catalog_look *look, void *argument)
{
	catalog->look = look;
	catalog->argument = argument;
}

static void look(struct catalog *catalog)
{
	if (!catalog->look)
		return;
	pthread_mutex_lock(&catalog->look_lock);
	catalog->look(catalog->argument, catalog);
	pthread_mutex_unlock(&catalog->look_lock);
}

/* Whether the recording is to be opened, or opened once more. */
static bool is_stale(const struct entry *entry)
{
	struct stat now;

	if (!entry->dataset)
		return true;
	if (now_ns() - entry->opened_ns < FRESH_NS || stat(entry->item.path, &now) < 0)
		return false;
	return entry->dataset->facts->writing || now.st_size != entry->status.st_size ||
	       now.st_ino != entry->status.st_ino || now.st_dev != entry->status.st_dev ||
	       now.st_mtim.tv_sec != entry->status.st_mtim.tv_sec ||
	       now.st_mtim.tv_nsec != entry->status.st_mtim.tv_nsec;
}

static struct err *open_entry(struct entry *entry, struct dataset **ret)
{
	struct err *err = NULL;

	pthread_mutex_lock(&entry->lock);
	if (is_stale(entry)) {
		struct dataset *dataset;

		if (stat(entry->item.path, &entry->status) < 0)
			err = err_create_errno(errno, "cannot open '%s'", entry->item.path);
		if (!err)
			err = dataset_open(entry->item.path, &dataset);
		if (!err) {
			dataset_release(entry->dataset);
			entry->dataset = dataset;
			entry->opened_ns = now_ns();
		}
	}
	if (!err)
		*ret = dataset_hold(entry->dataset);
	pthread_mutex_unlock(&entry->lock);
	return err;
}

static struct entry *find(struct catalog *catalog, const char *id)
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

struct err *catalog_find(struct catalog *catalog, const char *id, struct dataset **ret)
{
	struct entry *entry = strcmp(id, "last") == 0 ? NULL : find(catalog, id);

	if (!entry) {
		look(catalog);
		entry = find(catalog, id);
	}
	*ret = NULL;
	return entry ? open_entry(entry, ret) : NULL;
}

struct err *catalog_items(struct catalog *catalog, struct catalog_item **ret, size_t *count)
{
	struct catalog_item *items;

	look(catalog);
	pthread_mutex_lock(&catalog->lock);
	*count = catalog->entries.count;
	items = malloc((*count + 1) * sizeof(*items));
	for (size_t i = 0; items && i < *count; i++)
		items[i] = catalog->entries.items[i]->item;
	pthread_mutex_unlock(&catalog->lock);
	*ret = items;
	return items ? NULL : err_no_memory();
}

struct dataset *catalog_opened(struct catalog *catalog, const struct catalog_item *item)
{
	struct entry *entry = find(catalog, item->id);
	struct dataset *dataset = NULL;

	if (!entry || pthread_mutex_trylock(&entry->lock) != 0)
		return NULL;
	if (!is_stale(entry))
		dataset = dataset_hold(entry->dataset);
	pthread_mutex_unlock(&entry->lock);
	return dataset;
}
