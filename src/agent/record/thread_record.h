/* Records about a thread in its stream: its start, name, tag and end. With `busy` set. */
#ifndef MALLOW_AGENT_RECORD_THREAD_RECORD_H
#define MALLOW_AGENT_RECORD_THREAD_RECORD_H

struct thread;

/*
 * Writes the first record of a thread, in a stream of its own or after the records of a thread that
 * has ended. In a signal bracket.
 */
void thread_record_begin(struct thread *thread);

/* Writes the thread's name if it is new. In a signal bracket. */
void thread_record_name(struct thread *thread);

/* Writes the thread's tag (mallow_set_tag) if its stream has another one. */
void thread_record_tag(struct thread *thread);

/* Writes the last record of a thread. In a signal bracket. */
void thread_record_end(struct thread *thread);

#endif
