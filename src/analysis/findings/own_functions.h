/*
 * The reader's own functions in the stacks of a recording, and which of them some bytes are for. A
 * site is called after its innermost own frame (own_code.h). But often it is an outer function that
 * explains all: a constructor allocates, yet Cache::put made the objects.
 *
 *	bytes of each site ──► own_functions_pick() ──► one function
 *
 * Functions are the same if their readable names are. Belongs to the thread of symbolized.
 */
#ifndef MALLOW_ANALYSIS_FINDINGS_OWN_FUNCTIONS_H
#define MALLOW_ANALYSIS_FINDINGS_OWN_FUNCTIONS_H

#include "analysis/names/symbolized.h"
#include "hosted/cleanup.h"

struct own_functions;

/* recording: whose sites; symbolized may be that of the recording that it was filtered from. */
struct err *own_functions_create(const struct recording *recording, struct symbolized *symbolized,
				 struct own_functions **ret);
/* The same of other sites with stacks of the recording, which must outlive *ret. */
struct err *own_functions_create_of(const struct recording *recording,
				    struct symbolized *symbolized, const struct site *sites,
				    uint32_t site_count, struct own_functions **ret);
/* Accepts NULL. */
void own_functions_destroy(struct own_functions *functions);
CLEANUP_DEFINE(struct own_functions *, own_functions_destroy);

struct symbolized *own_functions_symbolized(const struct own_functions *functions);

/* A function that was picked, and a stack that shows it. */
struct picked_function {
	/*
	 * Its frame, on the line that most of the value is for, and a stack with it: of the site
	 * with the largest value there. NULL: the value is 0, or of stacks without frames.
	 */
	const struct named_frame *frame;
	uint32_t stack;
	uint32_t lines; /* on how many lines of the function the value is allocated; 0: not known */
	/* The call that it made for half of the value or more, if that is plumbing; else NULL. */
	const struct named_frame *call;
	uint64_t call_value;
	uint32_t number; /* of the function; see own_functions_take() */
	bool own;        /* it is the reader's own code */
	bool inclusive;  /* the value is that of all stacks that it is in, not of those called so */
	uint64_t value;  /* of that function */
	uint64_t all;    /* of all sites */
};

/*
 * *ret: the deepest own function that nine tenths of the values or more are below; else the one
 * that most is called after. main, or a thread's function, is everybody's caller: an own function
 * that has no other own one outside of it is not taken for what is below it. values: one for each
 * site.
 */
struct err *own_functions_pick(struct own_functions *functions, const uint64_t *values,
			       struct picked_function *ret);

/* The same, but only what most is called after; picked functions are never inclusive. */
struct err *own_functions_pick_called(struct own_functions *functions, const uint64_t *values,
				      struct picked_function *ret);

/* Calls take(argument, site) for each site that the picked function's value is of. */
struct err *own_functions_take(struct own_functions *functions,
			       const struct picked_function *picked,
			       void (*take)(void *argument, uint32_t site), void *argument);

/* *ret: for each site the number of the function that it is called after; UINT32_MAX: none. */
struct err *own_functions_named(struct own_functions *functions, const uint32_t **ret,
				uint32_t *function_count);

/* The function of that number: a frame of it. */
const struct named_frame *own_functions_frame(const struct own_functions *functions,
					      uint32_t number);

/*
 * Whether a pattern that means this function would mean another one, too, which is known here: one
 * with the same name before its parameters.
 */
bool own_functions_is_overloaded(const struct own_functions *functions, uint32_t number);

#endif
