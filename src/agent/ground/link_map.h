/*
 * Finding symbols without dlsym(): it takes the loader's locks, may allocate, and before
 * glibc 2.34 lives in a library of its own. Walks the loader's public list of objects and their
 * hash tables. Source: the gABI's dynamic section and hash table, GNU's DT_GNU_HASH, <link.h>.
 *
 * The list only grows at its end, but for dlclose(): the look-ups happen at start-up, and later
 * only for operators that a C program gets with a C++ plugin.
 */
#ifndef MALLOW_AGENT_GROUND_LINK_MAP_H
#define MALLOW_AGENT_GROUND_LINK_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The address of a function as the object behind ours in the search order defines it (what
 * dlsym(RTLD_NEXT) finds), else as any other loaded object but the program itself and ours does,
 * plugins loaded RTLD_LOCAL included. NULL: nobody defines it.
 */
void *link_map_find(const char *symbol);

/* The function as the program itself calls it: of the first object that defines it, ours not. */
void *link_map_find_first(const char *symbol);

/* The same function as the object defines it whose file name begins so. NULL: there is none. */
void *link_map_find_in(const char *file_name, const char *symbol);

/*
 * Of the kernel's own object, the vDSO, which lies in [*start, *end). NULL: there is none. Not
 * after the program has begun, which may unmap it.
 */
void *link_map_find_kernels(const char *symbol, uint64_t *start, uint64_t *end);

/* Whether no object before ours in the search order defines the function. */
bool link_map_is_first(const char *symbol);

/*
 * Whether it was loaded with the program, before its C library: only then the program's calls come
 * here. Not: opened by dlopen() or dlmopen(), or linked behind the C library.
 */
bool link_map_is_before_libc(void);

/* A function of ours, and where it is said which one is behind it. NULL there: it is looked for. */
struct link_map_redirection {
	const char *symbol;
	void *const *from;
	void *to;
};

/*
 * Not everybody finds ours first: a library opened with RTLD_DEEPBIND looks a function up among its
 * own libraries, dlsym() in the one that it is told, or behind the caller's (RTLD_NEXT). What they
 * find is the one behind ours, in the loader's table of its object's symbols. This table is made to
 * say ours:
 *
 *	before   libc.so.6  malloc  st_value 0x98930    + l_addr = glibc's malloc
 *	after    libc.so.6  malloc  st_value 0x…c41d0   + l_addr = hook_malloc
 *
 * No program is changed by it but by what it sees: only who looks the function up anew finds ours,
 * and it calls what it would have found. The questions above are answered as before. list stays
 * with this file. false: a table could not be changed.
 */
#define LINK_MAP_REDIRECTIONS_MAX 128
bool link_map_redirect(const struct link_map_redirection *list, size_t count);

/*
 * To be asked in a call from the loader, which is opening libraries: whether with them comes a
 * function that is found past ours, for link_map_redirect().
 */
bool link_map_passes_by(const char *symbol);

/* The code of the dynamic loader, to recognise its own calls. false: not found. */
bool link_map_loader_range(uint64_t *start, uint64_t *size);

#endif
