/*
 * Finding symbols without dlsym(): it takes the loader's locks, may allocate, and before
 * glibc 2.34 lives in a library of its own. Walks the loader's public list of objects and their
 * hash tables. Source: the gABI's dynamic section and hash table, GNU's DT_GNU_HASH, <link.h>.
 *
 * The list only grows at its end, but for dlclose(): the look-ups happen at start-up, and later
 * only for operators that a C program gets with a C++ plugin.
 */
#ifndef MALLOW_AGENT_LINK_MAP_H
#define MALLOW_AGENT_LINK_MAP_H

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

/* Whether no object before ours in the search order defines the function. */
bool link_map_is_first(const char *symbol);

/* The code of the dynamic loader, to recognise its own calls. false: not found. */
bool link_map_loader_range(uint64_t *start, uint64_t *size);

#endif
