/*
 * The probes on a process's allocator.
 *
 * A call is followed from its entry to its return, in `struct thread`. Only the outermost call of a
 * nest counts: what realloc does by malloc, or malloc by mmap, is its own business. A block leaves
 * the table before its memory is freed (at the entry of free), and enters it after it was allocated
 * (at the return of malloc). So when two threads hand an address over, the table never has it
 * wrong.
 */
#include "ebpf/bpf/maps.bpf.h"
#include "ebpf/bpf/outstanding.bpf.h"
#include "ebpf/bpf/record.bpf.h"
#include "ebpf/bpf/registers.bpf.h"
#include "ebpf/bpf/walk.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "ebpf/bpf/hook.h"

#define MAP_FAILED           (~0ull)
#define MAP_STACK_FLAG       0x20000
#define REMAP_KEEP_FLAG      4 /* MREMAP_DONTUNMAP */
/* No allocator has more frames between its function and what that calls. */
#define ALLOCATOR_FRAMES_MAX 64
/* Nor a thread between the C library's code that ends it and its outermost frame. */
#define END_FRAMES_MAX       16

extern bool bpf_session_is_return(void) __ksym __weak;

/* What a call was given, and where its return address is. */
struct call {
	uint64_t arguments[6];
	uint64_t sp;
	uint64_t fp;
	uint64_t link; /* the return address, if a register has it */
};

/*
 * Reads the registers. Volatile, or clang makes of two alternatives one load from a computed place,
 * and the verifier wants constant offsets into the registers.
 */
static __always_inline void read_call(const volatile struct pt_regs *regs, struct call *ret)
{
	regs_arguments(regs, ret->arguments);
	ret->sp = regs->REGS_SP;
	ret->fp = regs->REGS_FP;
	ret->link = regs_link(regs);
}

/*
 * The return address of a function, at its first or its last instruction. sp, link: as they are
 * there. false: it cannot be read.
 */
static __always_inline bool return_address(uint64_t sp, uint64_t link, uint64_t *ret)
{
	*ret = arch_strip(link);
	return ARCH_LINK_REGISTER || read_word(sp, ret);
}

/* number: from 1 on; 0: there is no such argument. */
static __always_inline uint64_t call_argument(const struct call *call, uint32_t number)
{
	return number ? call->arguments[(number - 1) & 3] : 0;
}

/* Returns whether it was sent. */
static __always_inline bool send_map(uint32_t kind, uint64_t address, uint64_t size, uint32_t stack,
				     uint64_t caller)
{
	struct event *event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);

	if (!event) {
		count(&state.losses.events);
		return false;
	}
	event->kind = kind;
	event->tid = (uint32_t)current_ids();
	event->time_ns = bpf_ktime_get_ns();
	event->address = address;
	event->size = size;
	event->stack = stack;
	event->caller = caller;
	event->cpu = bpf_get_smp_processor_id();
	event->name[0] = 0;
	if (settings.trace || settings.record)
		bpf_get_current_comm(event->name, sizeof(event->name));
	// Behind recorded calls, which wake nobody, the kernel would not wake the loader either.
	bpf_ringbuf_submit(event, settings.record ? BPF_RB_FORCE_WAKEUP : 0);
	return true;
}

static __always_inline bool send_event(uint32_t kind, uint64_t address, uint64_t size)
{
	return send_map(kind, address, size, STACK_NONE, 0);
}

/* Lets the loader look at the mappings again, unless it was asked to already. */
static __always_inline void ask_for_code(void)
{
	if (!__sync_lock_test_and_set(&state.code_asked, 1) && !send_event(EVENT_NEW_CODE, 0, 0))
		state.code_asked = 0;
}

/*
 * The stack from the caller of the allocator's function on. A global function, so the verifier
 * looks at it once, whoever calls it: 0.5 s each time otherwise.
 */
__noinline uint32_t take_stack(struct thread *thread, uint64_t pc, uint64_t sp, uint64_t fp)
{
	uint32_t end;

	if (!thread || !settings.depth)
		return STACK_NONE;
	thread->generation = state.generation;
	thread->walk_until = UINT64_MAX;
	end = walk_thread(thread, pc, sp, fp, settings.depth);
	if (end == STACK_UNMAPPED)
		ask_for_code();
	return stack_number(thread->walk_hash + end, thread->frames, thread->walk_frames, end);
}

static __always_inline bool in_range(uint64_t size)
{
	return size >= settings.min_size && size <= settings.max_size;
}

/* Whether an address is on the stack that the thread has for its signal handlers. */
static __always_inline bool on_signal_stack(const struct task_struct *task, uint64_t address)
{
	return address - task->sas_ss_sp < task->sas_ss_size;
}

/*
 * Whether the call that begins at that sp, and returns to pc, was made by the call that thread->sp
 * is that of: then the walk outwards comes to that one's very caller. By the frames, because a call
 * that is over leaves its return address on the stack until something is written there.
 */
__noinline uint32_t is_inside(struct thread *thread, uint64_t pc, uint64_t sp, uint64_t fp)
{
	if (!thread)
		return 0;
	thread->walk_until = thread->sp + RETURN_SIZE;
	walk_thread(thread, pc, sp + RETURN_SIZE, fp, ALLOCATOR_FRAMES_MAX);
	return thread->walk_sp == thread->walk_until && thread->walk_pc == thread->return_address;
}

/* Whether the call that began last may still go on: its return address is where it was. */
static __always_inline bool may_go_on(const struct thread *thread)
{
	uint64_t now;

	return ARCH_LINK_REGISTER || (read_word(thread->sp, &now) && now == thread->return_address);
}

/*
 * Whether the thread is inside of another call of the allocator. One whose return is not probed may
 * be over: by an exception, or because nobody waited for its return.
 */
static __always_inline bool is_nested(struct thread *thread, const struct call *call)
{
	uint64_t pc;

	if (!thread->sp)
		return false;
	// A function that ends in a jump to another: realloc(NULL, size) is still a realloc.
	if (call->sp == thread->sp)
		return !thread->return_address;
	if (thread->return_address)
		return call->sp < thread->sp && may_go_on(thread) &&
		       return_address(call->sp, call->link, &pc) &&
		       is_inside(thread, pc, call->sp, call->fp);
	if (call->sp < thread->sp)
		return true;

	// A signal handler that interrupted the call, on a stack that lies higher. To the kernel
	// the call would be over if this one's return were probed: it kills the process then.
	const struct task_struct *task = bpf_get_current_task_btf();

	return on_signal_stack(task, call->sp) && !on_signal_stack(task, thread->sp);
}

static __always_inline struct thread *this_thread(void)
{
	struct thread *thread = bpf_task_storage_get(&threads, bpf_get_current_task_btf(), 0,
						     BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!thread)
		count(&state.losses.calls);
	return thread;
}

/* Notes what an allocation wants. Returns whether its return matters. */
static __always_inline bool begin_alloc(struct thread *thread, const struct call *call,
					uint32_t cookie)
{
	uint32_t act = HOOK_ACT_OF(cookie);
	uint64_t size = call_argument(call, HOOK_SIZE_OF(cookie));
	uint64_t times = call_argument(call, HOOK_TIMES_OF(cookie));
	// Volatile, or clang makes a multiplication of 128 bits of it, which BPF does not have.
	volatile uint64_t most = UINT64_MAX;

	// If the product overflows, the function fails.
	if (HOOK_TIMES_OF(cookie))
		size = times && size > most / times ? most : size * times;
	thread->size = size;
	thread->wanted = in_range(size) && (settings.sample_rate <= 1 ||
					    bpf_get_prandom_u32() % settings.sample_rate == 0);
	if (settings.trace && thread->wanted)
		send_event(EVENT_ENTERED, 0, size);
	if (settings.record) {
		thread->began_ns = act == HOOK_REALLOC ? bpf_ktime_get_ns() : 0;
		thread->alignment = call_argument(call, HOOK_ALIGNMENT_OF(cookie));
	}
	if (act == HOOK_REALLOC) {
		thread->pointer = call_argument(call, HOOK_POINTER_OF(cookie));
		thread->took_old = thread->pointer &&
				   (settings.record || take_block(thread->pointer, &thread->old));
		if (settings.trace && thread->took_old)
			send_event(EVENT_FREED, thread->pointer, thread->old.size);
	} else {
		// Where posix_memalign is to put the address.
		thread->pointer = call->arguments[0];
		thread->took_old = 0;
	}
	return thread->wanted || thread->took_old;
}

/* Whether an address is in the code of an allocator that is a library. */
static __always_inline bool in_allocator(uint64_t address)
{
	bool found = false;

	for (int i = 0; i < ALLOCATORS_MAX; i++)
		found = found ||
			(address >= state.allocators[i].start && address < state.allocators[i].end);
	return found;
}

/* Whether the allocator itself makes the call: to free its own memory, or to map some. */
static __always_inline bool is_allocators_own(const struct call *call)
{
	uint64_t pc;

	return return_address(call->sp, call->link, &pc) && in_allocator(pc);
}

/* mmap and mremap: they are few, and the loader keeps them. */
static __always_inline bool begin_map(struct thread *thread, const struct call *call,
				      uint32_t cookie)
{
	bool remap = HOOK_ACT_OF(cookie) == HOOK_MREMAP;

	thread->size = remap ? call->arguments[2] : call->arguments[1];
	thread->took_old = 0;
	if (settings.record) {
		for (int i = 0; i < 6; i++)
			thread->arguments[i] = call->arguments[i];
		return !is_allocators_own(call);
	}
	if (remap) {
		if (!(call->arguments[3] & REMAP_KEEP_FLAG)) {
			thread->took_old = 1;
			send_event(EVENT_UNMAP, call->arguments[0], call->arguments[1]);
		}
	} else if (call->arguments[3] & MAP_STACK_FLAG) {
		// A thread's stack: the C library keeps those, and gives them to later threads.
		thread->wanted = 0;
		return false;
	}
	thread->wanted = in_range(thread->size);
	if (settings.trace && thread->wanted)
		send_event(EVENT_ENTERED, 0, thread->size);
	return true;
}

/* An entry. Returns whether the function's return is to be probed. may_skip: it can be left out. */
static __always_inline bool enter_call(const struct call *call, uint32_t cookie, bool may_skip)
{
	struct thread *thread = this_thread();
	uint32_t act = HOOK_ACT_OF(cookie);
	bool matters;

	if (!thread || state.stopped || is_nested(thread, call))
		return false;
	thread->cookie = cookie;
	thread->return_address = 0;
	if (act == HOOK_MMAP || act == HOOK_MREMAP)
		matters = begin_map(thread, call, cookie);
	else
		matters = begin_alloc(thread, call, cookie);
	// Calls within a call that does not matter are still nested in it.
	thread->sp = call->sp;
	if ((may_skip && !matters) || HOOK_WHERE_OF(cookie) == HOOK_WHERE_ONLY)
		return_address(call->sp, call->link, &thread->return_address);
	return matters;
}

/* With settings.record: what an allocation came to. */
static __always_inline void end_recorded(struct thread *thread, uint64_t address, bool failed,
					 uint64_t pc, uint64_t sp, uint64_t fp)
{
	// realloc(p, 0) frees p, and returns 0.
	if (failed && thread->took_old && !thread->size)
		record_free(thread->pointer, thread->began_ns, thread->cookie);
	else
		record_alloc(thread, failed ? 0 : address, take_stack(thread, pc, sp, fp));
}

static __always_inline void end_alloc(struct thread *thread, uint64_t address, bool failed,
				      uint64_t pc, uint64_t sp, uint64_t fp)
{
	struct block block = {.size = thread->size};

	if (settings.record) {
		end_recorded(thread, address, failed, pc, sp, fp);
		return;
	}
	if (failed) {
		// realloc(p, 0) frees p, and returns 0.
		if (thread->took_old && thread->size) {
			put_block(thread->pointer, &thread->old);
			if (settings.trace)
				send_event(EVENT_EXITED, thread->pointer, thread->old.size);
		}
		return;
	}
	if (!thread->wanted)
		return;
	block.time_ns = settings.combined ? 0 : bpf_ktime_get_ns();
	block.tid = (uint32_t)bpf_get_current_pid_tgid();
	block.stack = take_stack(thread, pc, sp, fp);
	put_block(address, &block);
}

/* A return. sp: that of the entry; pc, the return address; fp, the caller's. */
static __always_inline void leave_call(uint64_t value, uint64_t pc, uint64_t sp, uint64_t fp)
{
	struct thread *thread = this_thread();
	uint64_t address = value;
	bool failed;

	// A nested call, or one whose entry was not seen.
	if (!thread || thread->sp != sp)
		return;
	thread->sp = 0;
	if (state.stopped)
		return;

	uint32_t act = HOOK_ACT_OF(thread->cookie);

	if (HOOK_RESULT_OF(thread->cookie) == HOOK_RESULT_MEMORY &&
	    (value || !read_word(thread->pointer, &address)))
		address = 0;
	failed = address == 0 || address == MAP_FAILED;
	if (settings.trace && thread->wanted)
		send_event(EVENT_EXITED, address, thread->size);
	if (act == HOOK_ALLOC || act == HOOK_REALLOC) {
		end_alloc(thread, address, failed, pc, sp + RETURN_SIZE, fp);
	} else if (settings.record) {
		if (!failed)
			record_map(thread,
				   act == HOOK_MMAP ? EVENT_RECORD_MMAP : EVENT_RECORD_MREMAP,
				   address, thread->arguments,
				   take_stack(thread, pc, sp + RETURN_SIZE, fp));
	} else if (failed) {
		if (thread->took_old)
			send_event(EVENT_RESTORE, 0, 0);
	} else if (thread->wanted) {
		send_map(EVENT_MAP, address, thread->size,
			 take_stack(thread, pc, sp + RETURN_SIZE, fp), pc);
	}
}

/* The stack of a call that has just begun. */
static __always_inline uint32_t stack_of_call(struct thread *thread, const struct call *call)
{
	uint64_t pc;

	return return_address(call->sp, call->link, &pc)
		       ? take_stack(thread, pc, call->sp + RETURN_SIZE, call->fp)
		       : STACK_NONE;
}

/* Whether the frames of the last walk are all the allocator's. */
__noinline uint32_t are_allocators(struct thread *thread)
{
	uint32_t foreign = 0;

	if (!thread)
		return 0;
	for (uint32_t i = 0; i < END_FRAMES_MAX && i < thread->walk_frames; i++)
		foreign |= !in_allocator(thread->frames[i]);
	return thread->walk_end == STACK_WHOLE && !foreign;
}

/*
 * Whether all frames of a call, which returns to pc, are the allocator's: then a thread is ending,
 * and the C library empties what it keeps of freed blocks for the thread, by free itself.
 */
static __always_inline bool is_thread_ending(struct thread *thread, uint64_t pc,
					     const struct call *call)
{
	thread->walk_until = UINT64_MAX;
	walk_thread(thread, pc, call->sp + RETURN_SIZE, call->fp, END_FRAMES_MAX);
	return are_allocators(thread);
}

/* With settings.record: a block is freed, unless that is another call's business. */
static __always_inline void release_recorded(const struct call *call, uint64_t address,
					     uint32_t cookie)
{
	struct thread *thread = this_thread();
	uint64_t pc;

	// realloc(p, 0) frees by free.
	if (!thread || is_nested(thread, call))
		return;
	if (return_address(call->sp, call->link, &pc) && in_allocator(pc) &&
	    is_thread_ending(thread, pc, call))
		return;
	record_free(address, bpf_ktime_get_ns(), cookie);
}

static __always_inline void release_block(const struct call *call, uint32_t cookie)
{
	uint64_t address = call_argument(call, HOOK_POINTER_OF(cookie));
	struct block block;

	if (HOOK_ACT_OF(cookie) == HOOK_CODE) {
		__sync_fetch_and_add(&state.generation, 1);
		send_event(EVENT_NEW_CODE, 0, 0);
		return;
	}
	if (state.stopped)
		return;
	if (HOOK_ACT_OF(cookie) == HOOK_MUNMAP) {
		struct thread *thread = this_thread();

		// It fails for these, and otherwise but for want of memory.
		if (!thread || is_nested(thread, call) || !call->arguments[1] ||
		    call->arguments[0] & (settings.page - 1))
			return;
		if (settings.record && is_allocators_own(call))
			return;
		if (settings.record)
			record_map(thread, EVENT_RECORD_MUNMAP, 0, call->arguments,
				   stack_of_call(thread, call));
		else
			send_event(EVENT_UNMAP, call->arguments[0], call->arguments[1]);
		return;
	}
	if (!address)
		return;
	if (settings.record) {
		release_recorded(call, address, cookie);
		return;
	}
	if (settings.combined || settings.trace) {
		if (take_block(address, &block) && settings.trace)
			send_event(EVENT_FREED, address, block.size);
	} else {
		bpf_map_delete_elem(&blocks, &address);
	}
}

static __always_inline void leave_by_return(const struct pt_regs *regs)
{
	leave_call(regs->REGS_VALUE, regs->REGS_PC, regs->REGS_SP - RETURN_SIZE, regs->REGS_FP);
}

/* Entry and return by one probe. Result 1 at the entry: the return is not probed this time. */
SEC("uprobe")
int on_session(struct pt_regs *regs)
{
	struct call call;

	if (bpf_session_is_return()) {
		leave_by_return(regs);
		return 0;
	}
	read_call(regs, &call);
	return !enter_call(&call, (uint32_t)bpf_get_attach_cookie(regs), true);
}

SEC("uprobe")
int on_entry(struct pt_regs *regs)
{
	struct call call;

	read_call(regs, &call);
	enter_call(&call, (uint32_t)bpf_get_attach_cookie(regs), false);
	return 0;
}

SEC("uprobe")
int on_return(struct pt_regs *regs)
{
	leave_by_return(regs);
	return 0;
}

/* At a ret instruction: sp is as at the entry. */
SEC("uprobe")
int on_exit(struct pt_regs *regs)
{
	const struct thread *thread = this_thread();
	uint64_t pc;

	// Code that several functions end in: of those whose return is probed, the return counts.
	if (thread && HOOK_WHERE_OF(thread->cookie) == HOOK_WHERE_ONLY &&
	    return_address(regs->REGS_SP, regs_link(regs), &pc))
		leave_call(regs->REGS_VALUE, pc, regs->REGS_SP, regs->REGS_FP);
	return 0;
}

SEC("uprobe")
int on_free(struct pt_regs *regs)
{
	struct call call;

	read_call(regs, &call);
	release_block(&call, (uint32_t)bpf_get_attach_cookie(regs));
	return 0;
}

/* Whether the process is the one that is traced. */
static __always_inline bool is_current(void)
{
	return current_ids() >> 32 == settings.process;
}

/* The number of a new process in its own PID namespace, which is that of its parent. */
static __always_inline uint64_t own_number(struct task_struct *task)
{
	const struct pid *pid = task->thread_pid;
	uint64_t at = (uint64_t)pid->level * bpf_core_type_size(struct upid);
	int number = 0;

	bpf_probe_read_kernel(&number, sizeof(number),
			      (const char *)pid + bpf_core_field_offset(struct pid, numbers) + at);
	return (uint32_t)number;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	// Threads are tasks of the same process.
	if (is_current() && child->tgid != parent->tgid)
		send_event(EVENT_FORK,
			   settings.pid_ns_inode ? own_number(child) : (uint64_t)child->tgid, 0);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task)
{
	if (!is_current())
		return 0;
	// The recording ends here.
	if (settings.record)
		state.executed = state.stopped = 1;
	send_event(EVENT_EXEC, 0, 0);
	return 0;
}

/* Loaded with settings.record only. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_thread_end, struct task_struct *task)
{
	if (!is_current())
		return 0;
	state.exit_code = (uint32_t)task->exit_code;
	state.ended = 1;
	send_event(EVENT_THREAD_END, 0, 0);
	return 0;
}

char _license[] SEC("license") = "Dual MIT/GPL";
