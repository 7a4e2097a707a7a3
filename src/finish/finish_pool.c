#include "finish/finish_pool.h"

#include <pthread.h>
#include <sched.h>

#include "hosted/cleanup.h"

#define WORKERS 2
#define AHEAD   8 /* finished jobs that wait for being taken, at most */

/* lock guards everything below it; the jobs themselves belong to whoever has their number. */
struct pool {
	struct finish_jobs *jobs;
	const struct chunk_index *index;
	const struct byte_source *source;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	size_t next;  /* job to be begun */
	size_t taken; /* jobs that the caller has had */
	bool stop;
	bool *done; /* of each job */
	struct err *err;
};

struct worker {
	pthread_t thread;
	struct pool *pool;
	struct finish_scratch scratch;
};

/* Waits for a job; false: there is none any more. */
static bool begin(struct pool *pool, size_t *ret)
{
	bool got;

	pthread_mutex_lock(&pool->lock);
	while (!pool->stop && pool->next < pool->jobs->count && pool->next >= pool->taken + AHEAD)
		pthread_cond_wait(&pool->changed, &pool->lock);
	got = !pool->stop && pool->next < pool->jobs->count;
	if (got)
		*ret = pool->next++;
	pthread_mutex_unlock(&pool->lock);
	return got;
}

static void end(struct pool *pool, size_t number, struct err *err)
{
	pthread_mutex_lock(&pool->lock);
	pool->done[number] = true;
	if (err && !pool->err)
		pool->err = err;
	else
		err_destroy(err);
	pool->stop |= pool->err != NULL;
	pthread_cond_broadcast(&pool->changed);
	pthread_mutex_unlock(&pool->lock);
}

static void *work(void *argument)
{
	struct worker *worker = argument;
	struct pool *pool = worker->pool;
	size_t number;

	while (begin(pool, &number))
		end(pool, number,
		    finish_job_run(&pool->jobs->items[number], pool->index, pool->source,
				   &worker->scratch));
	return NULL;
}

/* The jobs in order, each as soon as it is there. */
static struct err *take_all(struct pool *pool, finish_pool_take *take, void *argument)
{
	struct err *err = NULL;
	bool stopped;

	for (size_t i = 0; !err && i < pool->jobs->count; i++) {
		pthread_mutex_lock(&pool->lock);
		while (!pool->stop && !pool->done[i])
			pthread_cond_wait(&pool->changed, &pool->lock);
		stopped = pool->stop;
		pthread_mutex_unlock(&pool->lock);
		if (stopped)
			return NULL;
		err = take(argument, &pool->jobs->items[i]);
		buf_deinit(&pool->jobs->items[i].out);
		pthread_mutex_lock(&pool->lock);
		pool->taken = i + 1;
		pool->stop |= err != NULL;
		pthread_cond_broadcast(&pool->changed);
		pthread_mutex_unlock(&pool->lock);
	}
	return err;
}

static struct err *run_alone(struct pool *pool, struct finish_scratch *scratch,
			     finish_pool_take *take, void *argument)
{
	struct err *err = NULL;

	for (size_t i = 0; !err && i < pool->jobs->count; i++) {
		struct finish_job *job = &pool->jobs->items[i];

		err = finish_job_run(job, pool->index, pool->source, scratch);
		if (!err)
			err = take(argument, job);
		buf_deinit(&job->out);
	}
	return err;
}

static struct err *run_together(struct pool *pool, struct worker *workers, size_t count,
				finish_pool_take *take, void *argument)
{
	size_t started = 0;
	struct err *err;

	while (started < count &&
	       pthread_create(&workers[started].thread, NULL, work, &workers[started]) == 0)
		started++;
	if (!started)
		return run_alone(pool, &workers[0].scratch, take, argument);
	err = take_all(pool, take, argument);
	for (size_t i = 0; i < started; i++)
		pthread_join(workers[i].thread, NULL);
	if (pool->err && !err)
		return steal(&pool->err);
	return err;
}

static size_t worker_count(size_t jobs)
{
	cpu_set_t set;
	int processors = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;

	return jobs < 2 || processors < 2 ? 1 : WORKERS;
}

struct err *finish_pool_run(struct finish_jobs *jobs, const struct chunk_index *index,
			    const struct byte_source *source, int level, finish_pool_take *take,
			    void *argument)
{
	auto_free bool *done = calloc(jobs->count + 1, sizeof(*done));
	struct pool pool = {
		.jobs = jobs,
		.index = index,
		.source = source,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.changed = PTHREAD_COND_INITIALIZER,
		.done = done,
	};
	struct worker workers[WORKERS] = {0};
	size_t count = worker_count(jobs->count);
	struct err *err = NULL;

	if (!done)
		return err_no_memory();
	for (size_t i = 0; !err && i < count; i++) {
		workers[i].pool = &pool;
		err = finish_scratch_create(level, &workers[i].scratch);
	}
	if (!err && count == 1)
		err = run_alone(&pool, &workers[0].scratch, take, argument);
	else if (!err)
		err = run_together(&pool, workers, count, take, argument);
	err_destroy(pool.err);
	for (size_t i = 0; i < count; i++)
		finish_scratch_deinit(&workers[i].scratch);
	pthread_cond_destroy(&pool.changed);
	pthread_mutex_destroy(&pool.lock);
	return err;
}
