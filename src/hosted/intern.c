#include "hosted/intern.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

struct intern_slot {
	uint64_t hash;
	size_t size;
	const char *text; /* NULL: free */
};

void intern_deinit(struct intern *intern)
{
	arena_deinit(&intern->arena);
	free(intern->slots);
	*intern = (struct intern){0};
}

/* The slot of the text, or the free slot where it belongs. */
static struct intern_slot *find_slot(struct intern_slot *slots, size_t capacity, uint64_t hash,
				     const char *text, size_t size)
{
	for (size_t i = hash & (capacity - 1);; i = (i + 1) & (capacity - 1)) {
		struct intern_slot *slot = &slots[i];

		if (!slot->text)
			return slot;
		if (slot->hash == hash && slot->size == size && !memcmp(slot->text, text, size))
			return slot;
	}
}

static bool grow_table(struct intern *intern)
{
	size_t capacity = intern->capacity ? intern->capacity * 2 : 256;
	struct intern_slot *slots = calloc(capacity, sizeof(*slots));

	if (!slots)
		return false;
	for (size_t i = 0; i < intern->capacity; i++) {
		struct intern_slot *slot = &intern->slots[i];

		if (slot->text)
			*find_slot(slots, capacity, slot->hash, slot->text, slot->size) = *slot;
	}
	free(intern->slots);
	intern->slots = slots;
	intern->capacity = capacity;
	return true;
}

const char *intern_bytes(struct intern *intern, const char *text, size_t size)
{
	uint64_t hash = XXH3_64bits(text, size);

	if (intern->count >= intern->capacity / 2 && !grow_table(intern))
		return NULL;

	struct intern_slot *slot = find_slot(intern->slots, intern->capacity, hash, text, size);

	if (slot->text)
		return slot->text;

	const char *copy = arena_copy(&intern->arena, text, size);

	if (!copy)
		return NULL;
	*slot = (struct intern_slot){hash, size, copy};
	intern->count++;
	return copy;
}

const char *intern_text(struct intern *intern, const char *text)
{
	return intern_bytes(intern, text, strlen(text));
}
