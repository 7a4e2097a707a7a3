/*
 * Families: the recordings of all processes of a run, as one (analysis/merge/merge.h). The id of a
 * family is that of any of its recordings with CATALOG_FAMILY behind it. It is made of what is in
 * the list when it is asked for, and again when one of its files has changed, or another came.
 */
#include <stdlib.h>
#include <string.h>

#include "hosted/cleanup.h"
#include "hosted/now.h"
#include "server/data/catalog_data.h"

/* For so long, nobody looks whether other recordings belong to a family. */
#define LOOK_NS UINT64_C(1000000000)

size_t catalog_family_suffix(const char *id)
{
	size_t length = strlen(id), own = sizeof(CATALOG_FAMILY) - 1;

	return length > own && strcmp(id + length - own, CATALOG_FAMILY) == 0 ? length - own : 0;
}

static struct entry *by_id(const struct catalog *catalog, const char *id)
{
	for (size_t i = 0; *id && i < catalog->entries.count; i++)
		if (strcmp(catalog->entries.items[i]->item.id, id) == 0)
			return catalog->entries.items[i];
	return NULL;
}

/* The recording that this one's family begins with. Files may claim to be each other's parents. */
static struct entry *root_of(const struct catalog *catalog, struct entry *entry)
{
	for (size_t i = 0; i < catalog->entries.count; i++) {
		struct entry *parent = by_id(catalog, entry->parent);

		if (!parent)
			break;
		entry = parent;
	}
	return entry;
}

/* *ret: those of the root's family, as they are now; the caller frees it. */
static struct err *members_of(struct catalog *catalog, const struct entry *root,
			      struct entry ***ret, size_t *count)
{
	struct entry **members;

	*count = 0;
	pthread_mutex_lock(&catalog->lock);
	members = calloc(catalog->entries.count + 1, sizeof(struct entry *));
	for (size_t i = 0; members && i < catalog->entries.count; i++)
		if (root_of(catalog, catalog->entries.items[i]) == root)
			members[(*count)++] = catalog->entries.items[i];
	pthread_mutex_unlock(&catalog->lock);
	*ret = members;
	return members ? NULL : err_no_memory();
}

struct err *catalog_find_family(struct catalog *catalog, struct entry *member, struct entry **ret)
{
	struct entry *family = NULL;
	const struct entry *root;
	struct err *err = NULL;

	pthread_mutex_lock(&catalog->lock);
	root = root_of(catalog, member);
	for (size_t i = 0; !family && i < catalog->families.count; i++)
		if (catalog->families.items[i]->root == root)
			family = catalog->families.items[i];
	if (!family) {
		family = catalog_entry_create(root->item.path);
		if (!family || !vec_push(&catalog->families, family)) {
			catalog_entry_destroy(family);
			err = err_no_memory();
		} else {
			family->root = root;
		}
	}
	pthread_mutex_unlock(&catalog->lock);
	if (!err)
		*ret = family;
	return err;
}

bool catalog_family_is_stale(struct catalog *catalog, struct entry *family)
{
	auto_free struct entry **members = NULL;
	size_t count;
	bool stale;

	if (now_ns() - family->looked_ns < LOOK_NS)
		return false;
	family->looked_ns = now_ns();
	catalog_look_for_new(catalog);
	err_destroy(members_of(catalog, family->root, &members, &count));
	stale = members && count != family->members.count;
	for (size_t i = 0; !stale && i < family->members.count; i++)
		stale = catalog_is_stale(family->members.items[i].path,
					 &family->members.items[i].seen);
	return stale;
}

struct err *catalog_open_family(struct catalog *catalog, struct entry *family, struct dataset **ret)
{
	auto_free struct entry **members = NULL;
	auto_free const char **paths = NULL;
	size_t count;
	struct err *err = members_of(catalog, family->root, &members, &count);

	if (err)
		return err;
	paths = calloc(count + 1, sizeof(*paths));
	family->members.count = 0;
	if (!paths || !vec_reserve(&family->members, count))
		return err_no_memory();
	for (size_t i = 0; i < count; i++) {
		struct member *member = &family->members.items[family->members.count++];

		paths[i] = member->path = members[i]->item.path;
		// One that is gone is left out, as others that cannot be read.
		member->seen = (struct seen){0};
		err_destroy(catalog_see(member->path, &member->seen));
	}
	err = dataset_open_merged(paths, count, catalog->options.debug_paths, ret);
	for (size_t i = 0; !err && i < count; i++)
		family->members.items[i].seen.writing = (*ret)->facts->writing;
	return err;
}
