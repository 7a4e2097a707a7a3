#include "analysis/merge/merge_moment.h"

#include <stdlib.h>

#include "hosted/cleanup.h"

/*
 * A walk over the steps of all lines in order of time. At equal times a line that ends comes first,
 * because a process that executes another program ends when that begins. Then the order of the
 * lines counts.
 */
struct walk {
	struct merge_line *lines;
	size_t *next;   /* for each line: the step that is due; count: its end is due */
	uint32_t *heap; /* a heap of lines with something due, the earliest first */
	size_t heap_count;
};

static bool at_end(const struct walk *walk, uint32_t line)
{
	return walk->next[line] == walk->lines[line].count;
}

static uint64_t due(const struct walk *walk, uint32_t index)
{
	const struct merge_line *line = &walk->lines[index];
	uint64_t time;

	if (at_end(walk, index))
		return line->end_ns;
	if (__builtin_add_overflow(line->start_ns, line->steps[walk->next[index]].time_ns, &time))
		return UINT64_MAX - 1;
	return time;
}

static bool earlier(const struct walk *walk, uint32_t a, uint32_t b)
{
	uint64_t left = due(walk, a), right = due(walk, b);

	if (left != right)
		return left < right;
	if (at_end(walk, a) != at_end(walk, b))
		return at_end(walk, a);
	return a < b;
}

static void sift_down(struct walk *walk, size_t at)
{
	uint32_t *heap = walk->heap;
	uint32_t moving = heap[at];

	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= walk->heap_count)
			break;
		if (child + 1 < walk->heap_count && earlier(walk, heap[child + 1], heap[child]))
			child++;
		if (!earlier(walk, heap[child], moving))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = moving;
}

static uint64_t bytes_before(const struct walk *walk, uint32_t index)
{
	size_t next = walk->next[index];

	return next ? walk->lines[index].steps[next - 1].bytes : 0;
}

/*
 * Walks to the end, or until so many turns are taken. *highest: the highest sum; *highest_turn: the
 * turn of it. Returns the time of the last turn.
 */
static uint64_t go(struct walk *walk, uint64_t turns, uint64_t *highest, uint64_t *highest_turn)
{
	uint64_t sum = 0, turn = 0, time = 0;

	while (walk->heap_count && turn < turns) {
		uint32_t index = walk->heap[0];
		uint64_t before = bytes_before(walk, index);

		time = due(walk, index);
		turn++;
		if (at_end(walk, index)) {
			sum -= before;
			walk->heap[0] = walk->heap[--walk->heap_count];
		} else {
			const struct live_step *step =
				&walk->lines[index].steps[walk->next[index]++];

			if (sum - before + step->most > *highest) {
				*highest = sum - before + step->most;
				*highest_turn = turn;
			}
			sum = sum - before + step->bytes;
			if (at_end(walk, index) && walk->lines[index].end_ns == UINT64_MAX)
				walk->heap[0] = walk->heap[--walk->heap_count];
		}
		if (walk->heap_count)
			sift_down(walk, 0);
	}
	return time;
}

static void begin(struct walk *walk, size_t count)
{
	walk->heap_count = 0;
	for (uint32_t i = 0; i < count; i++) {
		walk->next[i] = 0;
		if (walk->lines[i].count)
			walk->heap[walk->heap_count++] = i;
	}
	for (size_t i = walk->heap_count / 2; i-- > 0;)
		sift_down(walk, i);
}

struct err *merge_moment_find(struct merge_line *lines, size_t count, uint64_t *ret)
{
	auto_free size_t *next = calloc(count + 1, sizeof(*next));
	auto_free uint32_t *heap = calloc(count + 1, sizeof(*heap));
	struct walk walk = {.lines = lines, .next = next, .heap = heap};
	uint64_t highest = 0, turn = 0;
	uint32_t last;

	*ret = 0;
	for (size_t i = 0; i < count; i++)
		lines[i].operations = 0;
	if (!next || !heap)
		return err_no_memory();
	begin(&walk, count);
	go(&walk, UINT64_MAX, &highest, &turn);
	if (!turn)
		return NULL;
	// Walk again until just before that turn, so that each line is where it was then.
	begin(&walk, count);
	go(&walk, turn - 1, &(uint64_t){UINT64_MAX}, &(uint64_t){0});
	last = heap[0];
	*ret = due(&walk, last);
	for (uint32_t i = 0; i < count; i++) {
		bool gone = walk.next[i] == lines[i].count && lines[i].end_ns <= *ret;

		if (walk.next[i] && !gone)
			lines[i].operations = lines[i].steps[walk.next[i] - 1].operations;
	}
	lines[last].operations = lines[last].steps[next[last]].most_operations;
	return NULL;
}
