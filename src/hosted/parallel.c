#include "hosted/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#define WIDTH_MAX 8

struct job {
	parallel_piece *piece;
	void *argument;
	size_t count;
	atomic_size_t next;
};

size_t parallel_width(void)
{
	cpu_set_t set;
	int processors = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;

	return processors < WIDTH_MAX ? (size_t)processors : WIDTH_MAX;
}

size_t parallel_pieces(uint64_t things, uint64_t fewest)
{
	uint64_t most = things / fewest + 1, width = parallel_width();

	return (size_t)(most < width ? most : width);
}

static void *work(void *argument)
{
	struct job *job = argument;
	size_t number;

	while ((number = atomic_fetch_add(&job->next, 1)) < job->count)
		job->piece(job->argument, number);
	return NULL;
}

void parallel_run(parallel_piece *piece, void *argument, size_t count)
{
	struct job job = {.piece = piece, .argument = argument, .count = count};
	size_t wanted = count < 2 ? 0 : parallel_width() - 1, started = 0;
	pthread_t threads[WIDTH_MAX];

	while (started < wanted && started + 1 < count &&
	       pthread_create(&threads[started], NULL, work, &job) == 0)
		started++;
	work(&job);
	for (size_t i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
}
