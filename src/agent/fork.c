#include "agent/fork.h"

#include "agent/pending.h"
#include "agent/process.h"
#include "agent/syscall.h"
#include "agent/thread.h"

/* Whether this thread is in the middle of a write: a handler is what forks then. */
static struct thread *interrupted(void)
{
	struct thread *thread = thread_self;

	return thread && thread->busy && !process_system_calls_forbidden() ? thread : NULL;
}

/* Neither the slot nor the thread's memory is anything to the child, or both are. */
static void keep(struct fork *fork, bool kept)
{
	if (fork->slot)
		sys_madvise(fork->slot, fork->slot_size, kept ? MADV_DOFORK : MADV_DONTFORK);
	sys_madvise(fork->thread, thread_memory_size(), kept ? MADV_KEEPONFORK : MADV_WIPEONFORK);
}

void fork_begin(struct fork *fork)
{
	fork->thread = interrupted();
	if (!fork->thread)
		return;
	// Another handler that forks in between would undo it.
	slow_begin(&fork->slow);
	fork->slot = fork->thread->chunk;
	fork->slot_size = fork->thread->slot_size;
	fork->slot_shared = process->file.header && !process->file.header_private;
	keep(fork, true);
}

/* In the child the parent's slot is mapped still, so its place cannot have become another's. */
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

void fork_end(struct fork *fork, long result)
{
	struct thread *thread = fork->thread;

	if (!thread)
		return;
	if (result == 0) {
		replace_slot(fork);
		thread->forked = 1;
		pending_mark(thread);
	} else {
		keep(fork, false);
	}
	slow_end(&fork->slow);
}
