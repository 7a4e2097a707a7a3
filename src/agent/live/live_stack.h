/* From a stack to its site (sites.h), by what the thread knows of its last ones. */
#ifndef MALLOW_AGENT_LIVE_LIVE_STACK_H
#define MALLOW_AGENT_LIVE_LIVE_STACK_H

#include <stdint.h>

struct live;
struct thread;

/* The site of thread->stack, which was just captured. SITES_STACKLESS: there is no room for it. */
uint32_t live_stack_site(struct thread *thread, struct live *live);

/*
 * The thread has counted that stack in its site after another one (sites_allocate()). If that is so
 * often it counts it in a part of the site from now on.
 */
void live_stack_took_turn(struct thread *thread, struct live *live, uint32_t site);

#endif
