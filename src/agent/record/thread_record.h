/* What a thread's stream says of the thread: that it begins, its name, its tag. With `busy` set. */
#ifndef MALLOW_AGENT_RECORD_THREAD_RECORD_H
#define MALLOW_AGENT_RECORD_THREAD_RECORD_H

struct thread;

/*
 * The first record of a thread, in a stream of its own or behind those of a thread that has ended.
 * In a signal bracket.
 */
void thread_record_begin(struct thread *thread);

/* Writes the thread's name if it is new. In a signal bracket. */
void thread_record_name(struct thread *thread);

/* Writes the thread's tag (mallow_set_tag) if its stream has another one. */
void thread_record_tag(struct thread *thread);

/* The thread ends. In a signal bracket. */
void thread_record_end(struct thread *thread);

#endif
