#include <stdlib.h>

#include "analysis/load/load.h"
#include "hosted/cleanup.h"

struct err *load_thread_add(struct load *load, uint64_t stream, uint32_t *ret)
{
	struct recording *recording = load->recording;
	struct recorded_thread thread = {
		.stream = (uint32_t)stream,
		.name = "",
		.first_ns = UINT64_MAX,
	};
	uint32_t none = RECORDING_NONE;

	*ret = (uint32_t)recording->tables->threads.count;
	if (recording->tables->threads.count + 1 >= RECORDING_NONE ||
	    !vec_push(&recording->tables->threads, thread) ||
	    !vec_push(&load->thread_numbers, none) ||
	    !vec_push(&recording->blocks->heap_errors.turns, 0) ||
	    !vec_reserve(&load->thread_order,
			 load->thread_numbers.count - load->thread_order.count))
		return err_no_memory();
	return block_store_threads(&recording->blocks->store,
				   (uint32_t)recording->tables->threads.count);
}

/* Orders threads by stream, and those of a stream as they came. */
static int compare(const void *left, const void *right, void *argument)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	const struct recorded_thread *threads = argument;

	if (threads[a].stream != threads[b].stream)
		return threads[a].stream < threads[b].stream ? -1 : 1;
	return a < b ? -1 : a > b;
}

/* Numbers the threads that did nothing. */
static void number_others(struct load *load)
{
	uint32_t *order = load->thread_order.items;
	size_t first = load->thread_order.count, count = load->thread_numbers.count;

	for (uint32_t i = 0; i < count; i++)
		if (load->thread_numbers.items[i] == RECORDING_NONE)
			order[load->thread_order.count++] = i;
	if (first < count)
		qsort_r(order + first, count - first, sizeof(*order), compare,
			load->recording->tables->threads.items);
	for (size_t i = first; i < count; i++)
		load->thread_numbers.items[order[i]] = (uint32_t)i;
}

struct err *load_threads_finish(struct load *load)
{
	struct recording *recording = load->recording;
	size_t count = recording->tables->threads.count;
	auto_free struct recorded_thread *threads = calloc(count + 1, sizeof(*threads));

	if (!threads)
		return err_no_memory();
	number_others(load);
	for (size_t i = 0; i < count; i++)
		threads[i] = recording->tables->threads.items[load->thread_order.items[i]];
	for (size_t i = 0; i < count; i++)
		recording->tables->threads.items[i] = threads[i];
	for (size_t i = 0; i < recording->tables->mappings.count; i++) {
		uint32_t *thread = &recording->tables->mappings.items[i].thread;

		*thread = load->thread_numbers.items[*thread];
	}
	for (size_t i = 0; i < recording->tables->mallopts.count; i++) {
		uint32_t *thread = &recording->tables->mallopts.items[i].thread;

		*thread = load->thread_numbers.items[*thread];
	}
	return NULL;
}
