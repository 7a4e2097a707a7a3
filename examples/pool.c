/*
 * Memory that a program hands out itself, and how it tells mallow: an arena for each request, which
 *is given up as a whole, and a slab of sessions, each of which comes and goes.
 *
 *	cc -g -Iinclude -o pool examples/pool.c && mallow run -o pool.mallow ./pool
 *	mallow report --pools pool.mallow
 *
 * To malloc all of it is a handful of large blocks. Nothing is linked: ./pool runs alone as well.
 */
#include <mallow/mallow.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arena {
	char *memory;
	size_t used, size;
};

static void arena_begin(struct arena *arena, size_t size)
{
	arena->memory = (char *)malloc(size);
	if (!arena->memory)
		exit(1);
	arena->used = 0;
	arena->size = size;
	mallow_pool_name(arena, "request");
}

static void *arena_alloc(struct arena *arena, size_t size)
{
	void *block = arena->memory + arena->used;

	if (size > arena->size - arena->used)
		exit(1);
	arena->used += size;
	mallow_pool_alloc(arena, block, size);
	return block;
}

static void arena_end(struct arena *arena)
{
	mallow_pool_reset(arena);
	free(arena->memory);
}

#define SESSIONS 64

union session {
	char user[200];
	union session *next; /* while it is free */
};

/* The sessions lie in one block of malloc's, whose address is that of the first session, too. */
struct slab {
	union session *memory, *unused;
};

static void slab_begin(struct slab *slab)
{
	int i;

	slab->memory = (union session *)malloc(SESSIONS * sizeof(*slab->memory));
	if (!slab->memory)
		exit(1);
	slab->unused = NULL;
	for (i = SESSIONS; i-- > 0;) {
		slab->memory[i].next = slab->unused;
		slab->unused = &slab->memory[i];
	}
	mallow_pool_name(slab, "sessions");
}

static union session *slab_take(struct slab *slab)
{
	union session *session = slab->unused;

	if (!session)
		exit(1);
	slab->unused = session->next;
	mallow_pool_alloc(slab, session, sizeof(*session));
	return session;
}

static void slab_give_back(struct slab *slab, union session *session)
{
	mallow_pool_free(slab, session);
	session->next = slab->unused;
	slab->unused = session;
}

static union session *log_in(struct slab *slab, int number)
{
	union session *session = slab_take(slab);

	sprintf(session->user, "user %d", number);
	return session;
}

static char *copy_header(struct arena *arena, int number)
{
	char *header = (char *)arena_alloc(arena, 400);

	sprintf(header, "request %d", number);
	return header;
}

static char *render_page(struct arena *arena, int number)
{
	char *page = (char *)arena_alloc(arena, 1000 * (size_t)number);

	memset(page, 'x', 1000 * (size_t)number);
	return page;
}

/* A request keeps its session, but for every other one. */
static size_t serve(struct slab *slab, int number)
{
	struct arena arena;
	union session *session;
	size_t length;

	arena_begin(&arena, 20000);
	session = log_in(slab, number);
	length = strlen(copy_header(&arena, number)) + strlen(session->user);
	length += (size_t)*render_page(&arena, number);
	if (number % 2)
		slab_give_back(slab, session);
	arena_end(&arena);
	return length;
}

int main(void)
{
	struct slab slab;
	size_t sum = 0;
	int i;

	slab_begin(&slab);
	for (i = 1; i <= 10; i++)
		sum += serve(&slab, i);
	printf("%lu\n", (unsigned long)sum);
	return 0;
}
