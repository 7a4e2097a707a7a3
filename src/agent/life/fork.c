#include "agent/life/fork.h"

#include "agent/arch/syscall.h"
#include "agent/event/sink.h"
#include "agent/life/thread.h"
#include "agent/record/recording.h"

/* The child gets copies of both the slot and the thread's memory (kept), or of neither. */
static void keep_for_child(struct fork *fork, bool kept)
{
	if (fork->slot)
		sys_madvise(fork->slot, fork->slot_size, kept ? MADV_DOFORK : MADV_DONTFORK);
	sys_madvise(fork->thread, thread_memory_size(), kept ? MADV_KEEPONFORK : MADV_WIPEONFORK);
}

void fork_begin(struct fork *fork)
{
	struct thread *thread = thread_self;

	// Only a signal handler forks while its thread is in a hook.
	fork->thread = thread && thread->outer.sp ? thread : NULL;
	if (!fork->thread)
		return;
	fork->outer = thread->outer;
	fork->kept = thread->busy && !process_system_calls_forbidden();
	if (!fork->kept)
		return;
	// Signals are blocked until fork_end(): another handler that forks would undo this.
	signal_bracket_begin(&fork->bracket);
	fork->slot = thread->chunk;
	fork->slot_size = thread->slot_size;
	fork->slot_shared = process->header && !recording->file.header_private;
	keep_for_child(fork, true);
}

/*
 * Replaces the parent's slot by private memory, in the child, at the same address. The slot was
 * still mapped, so no other mapping can lie there.
 */
static void replace_slot(const struct fork *fork)
{
	void *memory;

	if (!fork->slot || !fork->slot_shared)
		return;
	memory = sys_mmap(fork->slot, fork->slot_size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	// Better that this child ends than that its parent's recording is damaged.
	if (syscall_error(memory))
		sys_munmap(fork->slot, fork->slot_size);
}

static void end_kept(struct fork *fork, bool child)
{
	if (child) {
		replace_slot(fork);
		if (sink->detach)
			sink->detach();
		fork->thread->forked = 1;
		// Its next allocation takes the slow path, which begins it.
		admission_hold(&fork->thread->admission);
		handler_queue_mark(fork->thread);
	} else {
		keep_for_child(fork, false);
	}
	signal_bracket_end(&fork->bracket);
}

/* The interrupted hook's event belongs to the parent's heap: without a slot it is not written. */
static void put_guard_back(struct thread *thread, struct arch_mark outer)
{
	thread->outer = outer;
	thread->resync = 1; // nothing else of the thread may be used
}

void fork_end(struct fork *fork, long result)
{
	if (!fork->thread)
		return;
	if (fork->kept)
		end_kept(fork, result == 0);
	else if (result == 0)
		put_guard_back(fork->thread, fork->outer);
}
