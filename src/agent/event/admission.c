#include "agent/event/admission.h"

#include "agent/event/event.h"
#include "agent/event/sink.h"
#include "agent/event/thread.h"
#include "base/random.h"

struct admitted *admitted;

#define LN_2 0.69314718055994530942

/*
 * -ln(n / 2^53), n from 1 to 2^53: the logarithm of a number m in [1, 2) by the series of
 * 2 artanh((m - 1) / (m + 1)), to 1e-9.
 */
static double minus_log(uint64_t n)
{
	unsigned int exponent = 63 - (unsigned int)__builtin_clzll(n);
	double m = (double)n / (double)(UINT64_C(1) << exponent);
	double z = (m - 1) / (m + 1), square = z * z, sum = 0;

	for (int i = 15; i > 0; i -= 2)
		sum = sum * square + 1.0 / i;
	return (53 - (int)exponent) * LN_2 - 2 * z * sum;
}

/* The number of bytes from one point to the next. */
static uint64_t draw_distance(struct admission *admission)
{
	double mean = (double)config.value[SETTING_SAMPLE];

	return (uint64_t)(mean * minus_log((random_next(&admission->random) >> 11) + 1));
}

/* Seeds the thread's generator. SEED is mixed, so that near seeds do not share streams. */
static void seed_thread(struct thread *thread)
{
	uint64_t given = config.value[SETTING_SEED], random;

	if (given)
		random = random_mix(given);
	else
		__builtin_memcpy(&random, process_id, sizeof(random));
	random += thread->stream;
	thread->admission.random = random_next(&random) | 1;
	thread->admission.held = draw_distance(&thread->admission);
	thread->admission.left = 0; // may be a parent's: admission_passes_over()
}

bool admission_samples(struct thread *thread, uint64_t size)
{
	struct admission *admission = &thread->admission;
	bool sampled, passes_over;
	uint64_t left;

	if (!admission->random)
		seed_thread(thread);
	if (!size)
		size = 1;
	left = admission->left + admission->held;
	sampled = size > left;
	// The distance to the next point does not depend on where this one was.
	left = sampled ? draw_distance(admission) : left - size;
	// In a nested hook the outer one's admission_hold() goes on.
	passes_over = live_way == LIVE_WAY_SAMPLES && !thread->within;
	admission->held = passes_over ? 0 : left;
	admission->left = passes_over ? left : 0;
	return sampled;
}

static bool add_address(struct address_set *set, uint64_t address)
{
	if (address_set_add(set, address))
		return true;
	process_count_loss(TRACE_LOSS_NO_MEMORY);
	return false;
}

/* Notes a new block. Returns whether it is recorded: as asked, unless there is no memory. */
static bool note_block(struct address_set *set, uint64_t address, bool recorded)
{
	if (recorded != admitted->others)
		return add_address(set, address) ? recorded : admitted->others;
	// The address may be in a set of others still, if a free was not seen, a handler's perhaps.
	if (recorded)
		address_set_remove(set, address);
	return recorded;
}

/* Removes a block that ends from the set. Returns whether it was recorded. */
static bool forget_block(struct address_set *set, uint64_t address)
{
	return address_set_remove(set, address) != admitted->others;
}

void admission_begin(void)
{
	admitted->others = !admission_knows();
}

bool admission_knows(void)
{
	return config.value[SETTING_SAMPLE] != 0 || toggle_is_watched() || sink->knows_blocks;
}

bool admission_wanted(void)
{
	return admission_knows() || sink->takes_all;
}

void admission_make_allocation(struct event *event)
{
	event->operation = event->operation == TRACE_OP_REALLOC ? TRACE_OP_REALLOC_NULL
								: TRACE_OP_REALLOCARRAY_NULL;
	event->ticks += event->duration;
}

/* While recording is off, only a realloc of a recorded block is recorded. */
static bool is_wanted(struct thread *thread, uint64_t size, bool old_recorded)
{
	return (!toggle_is_off() || old_recorded) &&
	       (!config.value[SETTING_SAMPLE] || admission_samples(thread, size));
}

static bool keeps_realloc(struct thread *thread, struct event *event)
{
	bool old_recorded = event->old_recorded;
	bool keeps = note_block(&admitted->blocks, event->address,
				is_wanted(thread, event->size, old_recorded));

	if (old_recorded) {
		if (keeps)
			return true;
		event->operation = TRACE_OP_FREE;
		event->address = event->old_address;
		return true;
	}
	admission_make_allocation(event);
	return keeps;
}

bool admission_keeps(struct thread *thread, struct event *event)
{
	if (event->operation & TRACE_OTHER || !admission_knows())
		return true;
	switch (event->operation) {
	case TRACE_OP_STACK:
		return true;
	case TRACE_OP_FREE:
	case TRACE_OP_DELETE:
	case TRACE_OP_DELETE_ARRAY:
		return event->old_recorded || forget_block(&admitted->blocks, event->address);
	case TRACE_OP_REALLOC:
	case TRACE_OP_REALLOCARRAY:
		return keeps_realloc(thread, event);
	default:
		return note_block(&admitted->blocks, event->address,
				  is_wanted(thread, event->size, false));
	}
}

bool admission_ends(const void *block)
{
	return !admission_knows() || forget_block(&admitted->blocks, arch_address(block));
}

void admission_restores(const void *block, bool recorded)
{
	if (admission_knows())
		note_block(&admitted->blocks, arch_address(block), recorded);
}

void admission_passes(const void *block)
{
	if (block && process_state() == PROCESS_RECORDING && admitted->others)
		add_address(&admitted->blocks, arch_address(block));
}

bool admission_has(const void *block)
{
	if (sink->knows_blocks) // the sink finds out when the block ends
		return block != NULL;
	return block && address_set_has(&admitted->blocks, arch_address(block)) != admitted->others;
}

void admission_pool_allocates(const void *pool, const void *block, bool recorded)
{
	note_block(&admitted->pool_blocks, arch_address(block), recorded);
	if (recorded)
		note_block(&admitted->pools, (uintptr_t)pool, true);
}

bool admission_pool_frees(const void *block)
{
	return forget_block(&admitted->pool_blocks, arch_address(block));
}

bool admission_pool_resets(const void *pool)
{
	struct address_set *set = &admitted->pools;
	uint64_t address = (uintptr_t)pool;

	if (address_set_has(set, address) == admitted->others)
		return false;
	if (admitted->others)
		add_address(set, address);
	else
		address_set_remove(set, address);
	return true;
}
