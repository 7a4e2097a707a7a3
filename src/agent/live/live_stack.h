/* Finds the site of a stack (sites.h), mostly by what the thread knows of its last stacks. */
#ifndef MALLOW_AGENT_LIVE_LIVE_STACK_H
#define MALLOW_AGENT_LIVE_LIVE_STACK_H

#include <stdint.h>

struct live;
struct thread;

/* The site of thread->stack, just captured. SITES_STACKLESS: no room for a new one. */
uint32_t live_stack_site(struct thread *thread, struct live *live);

/*
 * The thread has added to the site's sums right after another thread (sites_allocate()). If that
 * happens often, the thread counts this stack in a part of the site from now on (site_parts.h).
 */
void live_stack_took_turn(struct thread *thread, struct live *live, uint32_t site);

#endif
