/*
 * Finds symbols by the loader's public list of objects and their hash tables. Not by dlsym(): it
 * takes the loader's locks, may allocate, and before glibc 2.34 is in a library of its own. Source:
 * the gABI's dynamic section and hash table, GNU's DT_GNU_HASH, <link.h>.
 *
 * Apart from dlclose() the list only grows at its end. Look-ups happen at start-up; later only for
 * operators that a C program gets with a C++ plugin.
 */
#ifndef MALLOW_AGENT_GROUND_LINK_MAP_H
#define MALLOW_AGENT_GROUND_LINK_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The address of a function: in the first object after ours that defines it, as dlsym(RTLD_NEXT)
 * finds it; else in an object before ours. The list includes plugins that were loaded RTLD_LOCAL.
 * The program itself and our library are left out. NULL: no other object defines it.
 */
void *link_map_find(const char *symbol);

/*
 * The function in the first object of the program that defines it, our library left out. NULL: none
 * does.
 */
void *link_map_find_first(const char *symbol);

/*
 * Where the function or variable lies, [*start, *end), in the first object of the program that
 * defines it; our library, and functions of ours that took the place of others, are not looked at.
 * false: none does.
 */
bool link_map_find_symbol(const char *symbol, uint64_t *start, uint64_t *end);

/* The calling thread's copy of a thread-local variable. 0: there is none, or glibc does not say. */
uint64_t link_map_thread_variable(const char *symbol);

/* The function in the first object whose file name begins with file_name. NULL: there is none. */
void *link_map_find_in(const char *file_name, const char *symbol);

/*
 * The function in the vDSO, the kernel's own object, which lies in [*start, *end). NULL: there is
 * none. Call it only before the program begins: a program may unmap the vDSO.
 */
void *link_map_find_kernels(const char *symbol, uint64_t *start, uint64_t *end);

/* Whether no object before ours in the search order defines the function. */
bool link_map_is_first(const char *symbol);

/*
 * The name of the object that defines the function, if the program's calls go there and not to us:
 * "" for the program itself. NULL: they come to us, or this library is in another list of objects.
 */
const char *link_map_before_us(const char *symbol);

/*
 * The last object of our list. Its l_prev leads to all others. Call it only while no other thread
 * opens or closes libraries.
 */
struct link_map;
const struct link_map *link_map_last(void);

/*
 * Where the object lies. _dl_find_object() gives the same answer, but only after the loader has
 * relocated the object. false: its ELF header is not at its load address. Makes a system call.
 */
bool link_map_range(const struct link_map *map, uint64_t *start, uint64_t *end);

/* The path of this library, as the loader found it. NULL: not known, or the program has it in
 * itself. */
const char *link_map_own_path(void);

/*
 * Whether this library was loaded with the program and before its C library. Only then the
 * program's calls come here. Not if it was opened by dlopen() or dlmopen(), or linked after the C
 * library.
 */
bool link_map_is_before_libc(void);

/*
 * A function of ours (`to`), and the variable that holds the address of the real one (`from`). If
 * the variable holds NULL, link_map_redirect() looks the real one up.
 */
struct link_map_redirection {
	const char *symbol;
	void *const *from;
	void *to;
};

/*
 * Not every look-up finds our function first. A library opened with RTLD_DEEPBIND looks among its
 * own libraries; dlsym() looks in the library that it is given, or after the caller's (RTLD_NEXT).
 * They find the real function, in the symbol table of its object. So link_map_redirect() changes
 * that table to name ours:
 *
 *   before   libc.so.6  malloc  st_value 0x98930   + l_addr = glibc's malloc
 *   after    libc.so.6  malloc  st_value 0x…c41d0  + l_addr = hook_malloc
 *
 * This affects only later look-ups. They find our function, which calls the one that they would
 * have found. The functions above answer as before. The list is borrowed for good. Does nothing
 * while another thread does the same. false: a table could not be changed.
 */
#define LINK_MAP_REDIRECTIONS_MAX 128
bool link_map_redirect(const struct link_map_redirection *list, size_t count);

/*
 * Whether the libraries that are being opened define a function that would be found past ours, so
 * that link_map_redirect() is needed. Call it only in a hook that the loader itself has called.
 */
bool link_map_passes_by(const char *symbol);

/* An address in the program itself, wherever the loader comes from. 0: not known. */
uint64_t link_map_program(void);

/* The code of the dynamic loader, by which its calls are known. false: not found. */
bool link_map_loader_range(uint64_t *start, uint64_t *size);

#endif
