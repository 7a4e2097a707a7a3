#include "finish/finish_workers.h"

#include <pthread.h>
#include <sched.h>

#include "hosted/cleanup.h"

#define WORKERS 2
#define AHEAD   8 /* finished jobs that wait for being taken, at most */

/* lock guards everything below it; the jobs themselves belong to whoever has their number. */
struct queue {
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
	struct queue *queue;
	struct finish_scratch scratch;
};

/* Waits for a job; false: there is none any more. */
static bool begin_job(struct queue *queue, size_t *ret)
{
	bool got;

	pthread_mutex_lock(&queue->lock);
	while (!queue->stop && queue->next < queue->jobs->count &&
	       queue->next >= queue->taken + AHEAD)
		pthread_cond_wait(&queue->changed, &queue->lock);
	got = !queue->stop && queue->next < queue->jobs->count;
	if (got)
		*ret = queue->next++;
	pthread_mutex_unlock(&queue->lock);
	return got;
}

static void end_job(struct queue *queue, size_t number, struct err *err)
{
	pthread_mutex_lock(&queue->lock);
	queue->done[number] = true;
	if (err && !queue->err)
		queue->err = err;
	else
		err_destroy(err);
	queue->stop |= queue->err != NULL;
	pthread_cond_broadcast(&queue->changed);
	pthread_mutex_unlock(&queue->lock);
}

static void *work(void *argument)
{
	struct worker *worker = argument;
	struct queue *queue = worker->queue;
	size_t number;

	while (begin_job(queue, &number))
		end_job(queue, number,
			finish_job_run(&queue->jobs->items[number], queue->index, queue->source,
				       &worker->scratch));
	return NULL;
}

/* The jobs in order, each as soon as it is there. */
static struct err *take_all(struct queue *queue, finish_workers_take *take, void *argument)
{
	struct err *err = NULL;
	bool stopped;

	for (size_t i = 0; !err && i < queue->jobs->count; i++) {
		pthread_mutex_lock(&queue->lock);
		while (!queue->stop && !queue->done[i])
			pthread_cond_wait(&queue->changed, &queue->lock);
		stopped = queue->stop;
		pthread_mutex_unlock(&queue->lock);
		if (stopped)
			return NULL;
		err = take(argument, &queue->jobs->items[i]);
		buf_deinit(&queue->jobs->items[i].out);
		pthread_mutex_lock(&queue->lock);
		queue->taken = i + 1;
		queue->stop |= err != NULL;
		pthread_cond_broadcast(&queue->changed);
		pthread_mutex_unlock(&queue->lock);
	}
	return err;
}

static struct err *run_alone(struct queue *queue, struct finish_scratch *scratch,
			     finish_workers_take *take, void *argument)
{
	struct err *err = NULL;

	for (size_t i = 0; !err && i < queue->jobs->count; i++) {
		struct finish_job *job = &queue->jobs->items[i];

		err = finish_job_run(job, queue->index, queue->source, scratch);
		if (!err)
			err = take(argument, job);
		buf_deinit(&job->out);
	}
	return err;
}

static struct err *run_together(struct queue *queue, struct worker *workers, size_t count,
				finish_workers_take *take, void *argument)
{
	size_t started = 0;
	struct err *err;

	while (started < count &&
	       pthread_create(&workers[started].thread, NULL, work, &workers[started]) == 0)
		started++;
	if (!started)
		return run_alone(queue, &workers[0].scratch, take, argument);
	err = take_all(queue, take, argument);
	for (size_t i = 0; i < started; i++)
		pthread_join(workers[i].thread, NULL);
	if (queue->err && !err)
		return steal(&queue->err);
	return err;
}

static size_t worker_count(size_t jobs)
{
	cpu_set_t set;
	int processors = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;

	return jobs < 2 || processors < 2 ? 1 : WORKERS;
}

struct err *finish_workers_run(struct finish_jobs *jobs, const struct chunk_index *index,
			       const struct byte_source *source, int level,
			       finish_workers_take *take, void *argument)
{
	auto_free bool *done = calloc(jobs->count + 1, sizeof(*done));
	struct queue queue = {
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
		workers[i].queue = &queue;
		err = finish_scratch_create(level, &workers[i].scratch);
	}
	if (!err && count == 1)
		err = run_alone(&queue, &workers[0].scratch, take, argument);
	else if (!err)
		err = run_together(&queue, workers, count, take, argument);
	err_destroy(queue.err);
	for (size_t i = 0; i < count; i++)
		finish_scratch_deinit(&workers[i].scratch);
	pthread_cond_destroy(&queue.changed);
	pthread_mutex_destroy(&queue.lock);
	return err;
}
