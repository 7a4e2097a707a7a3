#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/growing/growing.h"
#include "analysis/names/anonymous.h"
#include "hosted/cleanup.h"
#include "hosted/parallel.h"
#include "server/data/catalog_data.h"

/* *ret: to be closed before it is read again. Call it under the summary's lock. */
static struct err *read_sums(struct entry *entry, struct recording **ret)
{
	struct err *err = NULL;

	if (!entry->growing)
		err = growing_open(entry->item.path, RECORDING_SUMS, &entry->growing);
	if (!err)
		err = growing_look(entry->growing, ret);
	if (err || !growing_goes_on(entry->growing))
		growing_close(steal(&entry->growing));
	return err;
}

/* Makes the text of an entry. Call it under the summary's lock. */
static struct err *summarize_entry(struct catalog *catalog, struct entry *entry,
				   catalog_summary *make)
{
	cleanup(recording_close_at) struct recording *recording = NULL;
	struct catalog_item item = {.path = entry->item.path};
	char *summary = NULL;
	struct seen seen;
	struct err *err = catalog_see(item.path, &seen);

	if (!err)
		err = read_sums(entry, &recording);
	if (err)
		return err;
	catalog_adopt(catalog, entry, recording);
	if (catalog->options.anonymous)
		recording_anonymize(recording);
	memcpy(item.id, recording_facts(recording)->id, sizeof(item.id));
	err = (*make)(&item, recording, &summary);
	if (err)
		return err;
	seen.writing = recording_facts(recording)->writing;
	free(entry->summary);
	entry->summary = summary;
	entry->summarized = seen;
	return NULL;
}

/* One text of the list that is being made. */
struct piece {
	struct entry *entry;
	struct buf text;
	struct err *err;
};

struct list {
	struct catalog *catalog;
	catalog_summary *make;
	struct piece *pieces;
	size_t count;
};

static void list_deinit(struct list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		buf_deinit(&list->pieces[i].text);
		err_destroy(list->pieces[i].err);
	}
	free(list->pieces);
}

/* only: the id of the one recording that is wanted, or "last"; NULL: all are. */
static struct err *begin_list(struct list *list, const char *only)
{
	struct catalog *catalog = list->catalog;

	pthread_mutex_lock(&catalog->lock);
	list->pieces = calloc(catalog->entries.count + 1, sizeof(*list->pieces));
	for (size_t i = 0; list->pieces && i < catalog->entries.count; i++) {
		struct entry *entry = catalog->entries.items[i];
		bool last = i + 1 == catalog->entries.count;

		if (only && strcmp(only, entry->item.id) != 0 &&
		    !(last && strcmp(only, "last") == 0))
			continue;
		buf_init(&list->pieces[list->count].text);
		list->pieces[list->count++].entry = entry;
	}
	pthread_mutex_unlock(&catalog->lock);
	return list->pieces ? NULL : err_no_memory();
}

static void make_piece(void *argument, size_t number)
{
	const struct list *list = argument;
	struct piece *piece = &list->pieces[number];
	struct entry *entry = piece->entry;

	pthread_mutex_lock(&entry->summary_lock);
	if (!entry->summary || catalog_is_stale(entry->item.path, &entry->summarized))
		piece->err = summarize_entry(list->catalog, entry, list->make);
	if (!piece->err)
		buf_text(&piece->text, entry->summary);
	pthread_mutex_unlock(&entry->summary_lock);
	if (!piece->err)
		piece->err = buf_finish(&piece->text);
}

struct err *catalog_summaries(struct catalog *catalog, const char *only, catalog_summary *make,
			      struct buf *buf)
{
	cleanup(list_deinit) struct list list = {.catalog = catalog, .make = make};
	size_t put = 0;
	struct err *err;

	catalog_look_for_new(catalog);
	err = begin_list(&list, only);
	if (err)
		return err;
	parallel_run(make_piece, &list, list.count);
	for (size_t i = 0; i < list.count; i++) {
		struct piece *piece = &list.pieces[i];

		if (piece->err && err_number(piece->err) == ENOMEM)
			return steal(&piece->err);
		if (piece->err)
			continue;
		if (put++)
			buf_char(buf, ',');
		buf_put(buf, piece->text.data, piece->text.size);
	}
	return NULL;
}
