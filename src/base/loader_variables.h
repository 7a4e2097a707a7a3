/*
 * The dynamic loader's variables (LD_PRELOAD, LD_LIBRARY_PATH, …) where the tool has a loader and
 * libraries of its own: they are for the programs that it starts. A library for the system's glibc
 * may not fit the tool's. The launcher hides them from the loader, and the tool, which begins
 * behind that, shows them again:
 *
 *	LD_PRELOAD=libjemalloc.so.2   ◄──►   \1D_PRELOAD=libjemalloc.so.2
 */
#ifndef MALLOW_BASE_LOADER_VARIABLES_H
#define MALLOW_BASE_LOADER_VARIABLES_H

#define LOADER_VARIABLES_SHOWN  'L'
#define LOADER_VARIABLES_HIDDEN '\1'

/* Changes the first character of these variables, in place. environment: ended by NULL. */
static inline void loader_variables_turn(char **environment, char from, char to)
{
	for (; *environment; environment++) {
		char *entry = *environment;

		if (entry[0] == from && entry[1] == 'D' && entry[2] == '_')
			entry[0] = to;
	}
}

#endif
