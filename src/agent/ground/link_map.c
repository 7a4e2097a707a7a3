#include "agent/ground/link_map.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <sys/auxv.h>

#include "agent/arch/machine.h"
#include "agent/arch/syscall.h"
#include "agent/ground/libc.h"
#include "agent/ground/object_symbols.h"
#include "agent/ground/own_code.h"
#include "agent/ground/text.h"

// Weak, like every import: without them nothing is found and nothing is recorded.
extern unsigned long getauxval(unsigned long type) __attribute__((weak));
extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));

// Since glibc 2.35 the first namespace's struct r_debug points to those of dlmopen().
#define VERSION_WITH_NAMESPACES 2

struct loader_space {
	struct r_debug objects;
	const struct loader_space *next;
};

#define PAGE         4096ul      /* at least so much of an object is mapped from its start on */
#define HIGH_ADDRESS (1ul << 30) /* an object with addresses above this is prelinked */

// What link_map_redirect() was given, and the functions that ours have replaced.
static const struct link_map_redirection *redirections;
static size_t redirection_count;
static void *redirected[LINK_MAP_REDIRECTIONS_MAX];
// The functions that ours will replace next. Used by the one thread that does so.
static void *behind[LINK_MAP_REDIRECTIONS_MAX];

/*
 * musl's loader, started as `ld-musl ./program`: the headers that the kernel tells of are its own,
 * and what the program's DT_DEBUG would say is in a variable.
 */
static const struct loader_space *find_in_loader(const ElfW(Ehdr) * header, const ElfW(Phdr) * phdr,
						 size_t count)
{
	struct link_map loader = {.l_addr = (uintptr_t)header};
	struct object_symbols symbols;
	uint32_t index;

	for (size_t i = 0; i < count; i++)
		if (phdr[i].p_type == PT_DYNAMIC)
			loader.l_ld = (void *)(loader.l_addr + phdr[i].p_vaddr);
	if (!loader.l_ld)
		return NULL;
	symbols = object_symbols_of(&loader);
	index = object_symbols_next(&symbols, "_dl_debug_addr", 0);
	return index ? *(const struct loader_space **)(uintptr_t)(symbols.bias +
								  symbols.table[index].st_value)
		     : NULL;
}

static const struct loader_space *find_loader_debug(void)
{
	const ElfW(Phdr) * phdr;
	const ElfW(Ehdr) * header;
	size_t count;
	uint64_t bias = 0;
	bool placed = false;
	const ElfW(Dyn) *dynamic = NULL;

	if (!getauxval)
		return NULL;
	phdr = (const void *)getauxval(AT_PHDR);
	count = getauxval(AT_PHNUM);
	for (size_t i = 0; phdr && i < count; i++)
		if (phdr[i].p_type == PT_PHDR) {
			bias = (uintptr_t)phdr - phdr[i].p_vaddr;
			placed = true;
		}
	header = (const void *)(uintptr_t)((uintptr_t)phdr & -PAGE);
	// What does not say where it is was not moved, but for a loader.
	if (header && !placed && memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
	    header->e_type == ET_DYN)
		return find_in_loader(header, phdr, count);
	for (size_t i = 0; phdr && i < count; i++)
		if (phdr[i].p_type == PT_DYNAMIC)
			dynamic = (const void *)(uintptr_t)(bias + phdr[i].p_vaddr);
	for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
		if (dynamic->d_tag == ARCH_DEBUG_PLACE)
			return *(const struct loader_space **)dynamic->d_un.d_ptr;
		if (dynamic->d_tag == ARCH_DEBUG_DISTANCE)
			return *(const struct loader_space **)(uintptr_t)((uintptr_t)dynamic +
									  dynamic->d_un.d_val);
		if (dynamic->d_tag == DT_DEBUG && dynamic->d_un.d_ptr)
			return (const void *)dynamic->d_un.d_ptr;
	}
	return NULL;
}

static const struct loader_space *loader_debug(void)
{
	static const struct loader_space *known;
	const struct loader_space *debug = __atomic_load_n(&known, __ATOMIC_RELAXED);

	if (!debug) {
		debug = find_loader_debug();
		__atomic_store_n(&known, debug, __ATOMIC_RELAXED);
	}
	return debug;
}

static const struct link_map *objects_of_program(void)
{
	const struct loader_space *first = loader_debug();

	return first ? first->objects.r_map : NULL;
}

/* The list of objects that this one is in: the program's, or that of a dlmopen(). */
static const struct link_map *objects_with_us(void)
{
	const struct loader_space *first = loader_debug();

	for (const struct loader_space *space = first; space;) {
		for (const struct link_map *map = space->objects.r_map; map; map = map->l_next)
			if (map->l_ld == _DYNAMIC)
				return space->objects.r_map;
		space = space->objects.r_version >= VERSION_WITH_NAMESPACES ? space->next : NULL;
	}
	return first ? first->objects.r_map : NULL;
}

static const struct link_map *own_object(void)
{
	const struct link_map *map = objects_with_us();

	while (map && map->l_ld != _DYNAMIC)
		map = map->l_next;
	return map;
}

/* The kernel's own object, the vDSO. Read once, because programs unmap it. */
struct kernels {
	const ElfW(Dyn) * dynamic; /* NULL: there is none */
	uint64_t start, end;
};

static const struct kernels *kernels(void)
{
	static struct kernels found;
	static bool known;
	const ElfW(Ehdr) * header;
	const ElfW(Phdr) * phdr;
	uint64_t bias = 0;

	if (__atomic_load_n(&known, __ATOMIC_ACQUIRE) || !getauxval)
		return &found;
	header = (const void *)getauxval(AT_SYSINFO_EHDR);
	phdr = header ? (const void *)((const char *)header + header->e_phoff) : NULL;
	for (int i = 0; header && i < header->e_phnum; i++) {
		if (phdr[i].p_type == PT_LOAD) {
			bias = (uintptr_t)header - phdr[i].p_vaddr;
			found.start = (uintptr_t)header;
			found.end = (uintptr_t)header + phdr[i].p_memsz;
		}
	}
	for (int i = 0; header && i < header->e_phnum; i++)
		if (phdr[i].p_type == PT_DYNAMIC)
			found.dynamic = (const void *)(uintptr_t)(bias + phdr[i].p_vaddr);
	__atomic_store_n(&known, true, __ATOMIC_RELEASE);
	return &found;
}

/* The vDSO has no function that we look for. Only link_map_find_kernels() looks there. */
static bool is_kernels(const struct link_map *map)
{
	return map->l_ld == kernels()->dynamic;
}

/* The function itself; if it is ours by a redirection, the one that was there before. */
static void *behind_redirection(void *function)
{
	for (size_t i = 0; own_code((uintptr_t)function) && i < redirection_count; i++)
		if (redirections[i].to == function)
			return redirected[i];
	return function;
}

/* The function as the loader finds it, which may be ours. */
static void *find_as_loader(const struct link_map *map, const char *name)
{
	struct object_symbols symbols = object_symbols_of(map);

	for (uint32_t i = object_symbols_next(&symbols, name, 0); i;
	     i = object_symbols_next(&symbols, name, i)) {
		const ElfW(Sym) *symbol = &symbols.table[i];
		void *value = (void *)(uintptr_t)(symbols.bias + symbol->st_value);

		// The hidden bit: an old version, kept for old programs.
		if (!object_symbols_is_function(symbol) ||
		    (symbols.versions && symbols.versions[i] & 0x8000))
			continue;
		return ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC ? ((void *(*)(void))value)()
								       : value;
	}
	return NULL;
}

static void *find_in(const struct link_map *map, const char *name)
{
	return behind_redirection(find_as_loader(map, name));
}

void *link_map_find(const char *symbol)
{
	const struct link_map *first = objects_with_us();
	const struct link_map *ours = own_object();
	void *found;

	for (const struct link_map *map = ours ? ours->l_next : NULL; map; map = map->l_next)
		if (!is_kernels(map) && (found = find_in(map, symbol)))
			return found;
	// Objects before ours other than the program: preloaded ones.
	for (const struct link_map *map = first ? first->l_next : NULL; map && map != ours;
	     map = map->l_next)
		if (!is_kernels(map) && (found = find_in(map, symbol)))
			return found;
	return NULL;
}

void *link_map_find_first(const char *symbol)
{
	void *found;

	for (const struct link_map *map = objects_of_program(); map; map = map->l_next)
		if (map->l_ld != _DYNAMIC && !is_kernels(map) && (found = find_in(map, symbol)))
			return found;
	return NULL;
}

/* A symbol of an object that defines it. */
struct defined {
	const struct link_map *map; /* NULL: none does */
	const ElfW(Sym) * symbol;
	uint64_t bias; /* to be added to st_value */
};

/* The first one of the program, our library left out. */
static struct defined find_defined(const char *name)
{
	for (const struct link_map *map = objects_of_program(); map; map = map->l_next) {
		struct object_symbols symbols;
		uint32_t i;

		if (map->l_ld == _DYNAMIC || is_kernels(map))
			continue;
		symbols = object_symbols_of(map);
		i = object_symbols_next(&symbols, name, 0);
		while (i && symbols.table[i].st_shndx == SHN_UNDEF)
			i = object_symbols_next(&symbols, name, i);
		if (i)
			return (struct defined){map, &symbols.table[i], symbols.bias};
	}
	return (struct defined){0};
}

bool link_map_find_symbol(const char *name, uint64_t *start, uint64_t *end)
{
	struct defined found = find_defined(name);

	if (!found.map)
		return false;
	*start = found.bias + found.symbol->st_value;
	*end = *start + found.symbol->st_size;
	return true;
}

uint64_t link_map_thread_variable(const char *name)
{
	typedef int information(void *object, int request, void *ret);
	information *ask = (information *)link_map_find_first("dlinfo");
	struct defined found = find_defined(name);
	char *block = NULL;

	if (!found.map || ELF64_ST_TYPE(found.symbol->st_info) != STT_TLS || !ask ||
	    ask((void *)(uintptr_t)found.map, RTLD_DI_TLS_DATA, &block) != 0 || !block)
		return 0;
	return (uintptr_t)block + found.symbol->st_value;
}

void *link_map_find_in(const char *file_name, const char *symbol)
{
	size_t length = strlen(file_name);

	for (const struct link_map *map = objects_with_us(); map; map = map->l_next)
		if (!is_kernels(map) && !strncmp(text_base_name(map->l_name), file_name, length))
			return find_in(map, symbol);
	return NULL;
}

void *link_map_find_kernels(const char *symbol, uint64_t *start, uint64_t *end)
{
	for (const struct link_map *map = objects_of_program(); map; map = map->l_next) {
		if (!is_kernels(map))
			continue;
		*start = kernels()->start;
		*end = kernels()->end;
		return find_in(map, symbol);
	}
	return NULL;
}

bool link_map_is_first(const char *symbol)
{
	for (const struct link_map *map = objects_with_us(); map; map = map->l_next) {
		if (map->l_ld == _DYNAMIC)
			return true;
		if (!is_kernels(map) && find_in(map, symbol))
			return false;
	}
	return false;
}

const char *link_map_before_us(const char *symbol)
{
	const struct link_map *first = objects_of_program(), *found = NULL;

	for (const struct link_map *map = first; map; map = map->l_next) {
		if (map->l_ld == _DYNAMIC)
			return !found ? NULL : found == first ? "" : found->l_name;
		if (!found && !is_kernels(map) && find_in(map, symbol))
			found = map;
	}
	return NULL;
}

const struct link_map *link_map_last(void)
{
	const struct link_map *map = objects_with_us();

	while (map && map->l_next)
		map = map->l_next;
	return map;
}

bool link_map_is_before_libc(void)
{
	return objects_with_us() == objects_of_program() && link_map_is_first("__libc_start_main");
}

/* The object that the function lies in, if that comes after ours in the search order; else NULL. */
static const struct link_map *owner_of(const void *function)
{
	const struct link_map *map = objects_with_us(), *owner = NULL;
	bool behind_us = false;

	for (; map; map = map->l_next) {
		if (map->l_addr <= (uintptr_t)function && (!owner || map->l_addr > owner->l_addr))
			owner = map;
	}
	for (map = objects_with_us(); map; map = map->l_next) {
		if (map == owner)
			return behind_us ? owner : NULL;
		behind_us |= map->l_ld == _DYNAMIC;
	}
	return NULL;
}

/* The object's ELF header. NULL: it is not at l_addr, because the file is prelinked. */
static const ElfW(Ehdr) * header_of(const struct link_map *map)
{
	const ElfW(Ehdr) *header = (const void *)map->l_addr;

	if (!header || map->l_addr % PAGE)
		return NULL;
	// The object may have been linked for other addresses, so first ask whether anything is
	// mapped here: the kernel reads the word before it refuses the invalid argument
	// (stack_bounds.c).
	if (sys_sigprocmask(-1, (const void *)header, NULL) == -EFAULT ||
	    memcmp(header->e_ident, ELFMAG, SELFMAG))
		return NULL;
	return header;
}

bool link_map_range(const struct link_map *map, uint64_t *start, uint64_t *end)
{
	const ElfW(Ehdr) *header = header_of(map);
	const ElfW(Phdr) *phdr = header ? (const void *)(map->l_addr + header->e_phoff) : NULL;
	bool found = false;

	// Tools that patch files move the program headers to the file's end.
	if (!header || header->e_phoff + header->e_phnum * sizeof(*phdr) > PAGE)
		return false;
	for (int i = 0; i < header->e_phnum; i++) {
		if (phdr[i].p_type != PT_LOAD)
			continue;
		if (!found)
			*start = map->l_addr + (phdr[i].p_vaddr & ~(PAGE - 1));
		*end = map->l_addr + phdr[i].p_vaddr + phdr[i].p_memsz;
		found = true;
	}
	return found;
}

/*
 * The protection (PROT_…) of the segment that the object's symbols lie in. PROT_NONE: not known.
 * Addresses of prelinked objects are high ones.
 */
static int protection_of(const struct link_map *map, const void *symbols)
{
	uint64_t address = (uintptr_t)symbols - map->l_addr;
	const ElfW(Ehdr) *header = address > HIGH_ADDRESS ? NULL : header_of(map);
	const ElfW(Phdr) * phdr;

	if (!header)
		return PROT_NONE;
	phdr = (const void *)(map->l_addr + header->e_phoff);
	for (int i = 0; i < header->e_phnum; i++)
		if (phdr[i].p_type == PT_LOAD && address - phdr[i].p_vaddr < phdr[i].p_memsz)
			return (phdr[i].p_flags & PF_R ? PROT_READ : 0) |
			       (phdr[i].p_flags & PF_W ? PROT_WRITE : 0) |
			       (phdr[i].p_flags & PF_X ? PROT_EXEC : 0);
	return PROT_NONE;
}

/*
 * Finds every version of the name whose entry is the real function, and if `write`, makes it name
 * ours. Returns the last such entry; NULL: there is none.
 */
static ElfW(Sym) * redirect_one(const struct object_symbols *symbols, size_t number, bool write)
{
	const struct link_map_redirection *one = &redirections[number];
	ElfW(Sym) *last = NULL;

	for (uint32_t i = 0; (i = object_symbols_next(symbols, one->symbol, i));) {
		ElfW(Sym) *symbol = &symbols->table[i];

		if (!object_symbols_is_function(symbol) ||
		    symbols->bias + symbol->st_value != (uintptr_t)behind[number])
			continue;
		if (symbol > last)
			last = symbol;
		if (!write)
			continue;
		redirected[number] = behind[number];
		__atomic_store_n(&symbol->st_value, (uintptr_t)one->to - symbols->bias,
				 __ATOMIC_RELEASE);
	}
	return last;
}

/* Redirects the functions whose owner is this object. false: its table cannot be changed. */
static bool redirect_in(const struct link_map *map, const struct link_map *const *owners)
{
	struct object_symbols symbols = object_symbols_of(map);
	int protection = protection_of(map, symbols.table);
	uint64_t start = (uintptr_t)symbols.table & -arch_page();
	ElfW(Sym) *last = NULL, *symbol;

	for (size_t i = 0; i < redirection_count; i++)
		if (owners[i] == map && (symbol = redirect_one(&symbols, i, false)) > last)
			last = symbol;
	if (!last)
		return true;
	if (protection == PROT_NONE ||
	    syscall_error(sys_mprotect((void *)(uintptr_t)start, (uintptr_t)(last + 1) - start,
				       protection | PROT_WRITE)))
		return false;
	for (size_t i = 0; i < redirection_count; i++)
		if (owners[i] == map)
			redirect_one(&symbols, i, true);
	sys_mprotect((void *)(uintptr_t)start, (uintptr_t)(last + 1) - start, protection);
	return true;
}

static bool is_among(const struct link_map *map, const struct link_map *const *owners, size_t count)
{
	while (count--)
		if (owners[count] == map)
			return true;
	return false;
}

bool link_map_redirect(const struct link_map_redirection *list, size_t count)
{
	static const struct link_map *owners[LINK_MAP_REDIRECTIONS_MAX];
	static uint32_t busy;
	bool done = true;

	if (__atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE))
		return true; // another thread is doing it
	redirections = list;
	redirection_count = count;
	for (size_t i = 0; i < count; i++) {
		behind[i] = *list[i].from ? *list[i].from : link_map_find(list[i].symbol);
		owners[i] = behind[i] ? owner_of(behind[i]) : NULL;
	}
	for (const struct link_map *map = objects_with_us(); map; map = map->l_next)
		if (is_among(map, owners, count))
			done &= redirect_in(map, owners);
	__atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
	return done;
}

bool link_map_passes_by(const char *symbol)
{
	const struct loader_space *first = loader_debug();
	const struct link_map *map = own_object();
	void *found = NULL;

	if (!first || first->objects.r_state != RT_ADD)
		return false;
	for (map = map ? map->l_next : NULL; map && !found; map = map->l_next)
		if (!is_kernels(map))
			found = find_as_loader(map, symbol);
	return found && !own_code((uintptr_t)found);
}

const char *link_map_own_path(void)
{
	const struct link_map *map = own_object();

	return map ? map->l_name : NULL;
}

uint64_t link_map_program(void)
{
	const struct link_map *first = objects_of_program();

	return first ? (uintptr_t)first->l_ld : 0;
}

bool link_map_loader_range(uint64_t *start, uint64_t *size)
{
	const ElfW(Ehdr) * header;
	const ElfW(Phdr) * phdr;

	if (!getauxval)
		return false;
	header = (const void *)getauxval(AT_BASE);
	if (!header)
		return false;
	phdr = (const void *)((const char *)header + header->e_phoff);
	*start = (uintptr_t)header;
	*size = 0;
	for (int i = 0; i < header->e_phnum; i++)
		if (phdr[i].p_type == PT_LOAD)
			*size = phdr[i].p_vaddr + phdr[i].p_memsz;
	return *size > 0;
}
