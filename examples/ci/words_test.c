/*
 * A small test, as a project may have it: counts the words of a text, and checks the result. For
 * the memory gate beside it (gate.sh) it is any program. With -DFORGETS it is the same after a
 * change that forgets to free the words.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct words {
	char **items;
	size_t count, capacity;
};

static void add_word(struct words *words, const char *text, size_t length)
{
	if (words->count == words->capacity) {
		words->capacity = words->capacity ? 2 * words->capacity : 16;
		words->items = realloc(words->items, words->capacity * sizeof(*words->items));
	}
	words->items[words->count++] = strndup(text, length);
}

static struct words split(const char *text)
{
	struct words words = {0};

	while (*text) {
		size_t length = strcspn(text, " ");

		add_word(&words, text, length);
		text += length + (text[length] == ' ');
	}
	return words;
}

static void free_words(struct words *words)
{
#ifndef FORGETS
	for (size_t i = 0; i < words->count; i++)
		free(words->items[i]);
#endif
	free(words->items);
}

int main(void)
{
	for (int round = 0; round < 100; round++) {
		struct words words =
			split("a heap profiler shows where the memory of a program goes");

		assert(words.count == 11);
		free_words(&words);
	}
	return 0;
}
