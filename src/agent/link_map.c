#include "agent/link_map.h"

#include <elf.h>
#include <link.h>
#include <sys/auxv.h>

#include "agent/libc.h"
#include "agent/text.h"

// Weak, like every import: without them nothing is found and nothing is recorded.
extern unsigned long getauxval(unsigned long type) __attribute__((weak));
extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));

struct symbols {
	const ElfW(Sym) * table;
	const char *strings;
	const uint32_t *gnu_hash;
	const uint32_t *hash;
	const uint16_t *versions;
	uint64_t bias;
};

static const struct r_debug *loader_debug(void)
{
	const ElfW(Phdr) * phdr;
	size_t count;
	uint64_t bias = 0;
	const ElfW(Dyn) *dynamic = NULL;

	if (!getauxval)
		return NULL;
	phdr = (const void *)getauxval(AT_PHDR);
	count = getauxval(AT_PHNUM);
	for (size_t i = 0; phdr && i < count; i++)
		if (phdr[i].p_type == PT_PHDR)
			bias = (uint64_t)phdr - phdr[i].p_vaddr;
	for (size_t i = 0; phdr && i < count; i++)
		if (phdr[i].p_type == PT_DYNAMIC)
			dynamic = (const void *)(bias + phdr[i].p_vaddr);
	for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++)
		if (dynamic->d_tag == DT_DEBUG)
			return (const void *)dynamic->d_un.d_ptr;
	return NULL;
}

/* glibc relocates the pointers of a dynamic section in place, musl and the vdso do not. */
static const void *pointer(const struct link_map *map, uint64_t value)
{
	return (const void *)(value < map->l_addr ? value + map->l_addr : value);
}

static struct symbols symbols_of(const struct link_map *map)
{
	struct symbols symbols = {.bias = map->l_addr};

	for (const ElfW(Dyn) *d = map->l_ld; d && d->d_tag != DT_NULL; d++) {
		switch (d->d_tag) {
		case DT_SYMTAB:
			symbols.table = pointer(map, d->d_un.d_ptr);
			break;
		case DT_STRTAB:
			symbols.strings = pointer(map, d->d_un.d_ptr);
			break;
		case DT_GNU_HASH:
			symbols.gnu_hash = pointer(map, d->d_un.d_ptr);
			break;
		case DT_HASH:
			symbols.hash = pointer(map, d->d_un.d_ptr);
			break;
		case DT_VERSYM:
			symbols.versions = pointer(map, d->d_un.d_ptr);
			break;
		}
	}
	return symbols;
}

/* Defined here, a function, and not an old version kept for old programs (hidden bit). */
static void *address_of(const struct symbols *symbols, uint32_t index, const char *name)
{
	const ElfW(Sym) *symbol = &symbols->table[index];
	int type = ELF64_ST_TYPE(symbol->st_info);
	uint64_t value;

	if (symbol->st_shndx == SHN_UNDEF || (type != STT_FUNC && type != STT_GNU_IFUNC))
		return NULL;
	if (symbols->versions && symbols->versions[index] & 0x8000)
		return NULL;
	if (strcmp(symbols->strings + symbol->st_name, name))
		return NULL;
	value = symbols->bias + symbol->st_value;
	return type == STT_GNU_IFUNC ? ((void *(*)(void))value)() : (void *)value;
}

static void *find_gnu(const struct symbols *symbols, const char *name)
{
	const uint32_t *table = symbols->gnu_hash;
	uint32_t bucket_count = table[0];
	uint32_t offset = table[1];
	uint32_t bloom_words = table[2];
	const uint32_t *buckets = table + 4 + bloom_words * (sizeof(ElfW(Addr)) / 4);
	const uint32_t *chain = buckets + bucket_count;
	uint32_t hash = 5381;
	void *found;

	for (const char *c = name; *c; c++)
		hash = hash * 33 + (unsigned char)*c;
	if (!bucket_count || buckets[hash % bucket_count] < offset)
		return NULL;
	for (uint32_t i = buckets[hash % bucket_count];; i++) {
		uint32_t entry = chain[i - offset];

		if ((entry | 1) == (hash | 1) && (found = address_of(symbols, i, name)))
			return found;
		if (entry & 1)
			return NULL;
	}
}

static void *find_sysv(const struct symbols *symbols, const char *name)
{
	uint32_t bucket_count = symbols->hash[0];
	const uint32_t *buckets = symbols->hash + 2;
	const uint32_t *chain = buckets + bucket_count;
	uint32_t hash = 0;
	void *found;

	for (const char *c = name; *c; c++) {
		hash = (hash << 4) + (unsigned char)*c;
		hash = (hash ^ (hash >> 24 & 0xf0)) & 0x0fffffff;
	}
	for (uint32_t i = bucket_count ? buckets[hash % bucket_count] : 0; i; i = chain[i])
		if ((found = address_of(symbols, i, name)))
			return found;
	return NULL;
}

static void *find_in(const struct link_map *map, const char *name)
{
	struct symbols symbols = symbols_of(map);

	if (!symbols.table || !symbols.strings)
		return NULL;
	if (symbols.gnu_hash)
		return find_gnu(&symbols, name);
	return symbols.hash ? find_sysv(&symbols, name) : NULL;
}

void *link_map_find(const char *symbol)
{
	const struct r_debug *debug = loader_debug();
	const struct link_map *first = debug ? debug->r_map : NULL;
	const struct link_map *ours = first;
	void *found;

	while (ours && ours->l_ld != _DYNAMIC)
		ours = ours->l_next;
	for (const struct link_map *map = ours ? ours->l_next : NULL; map; map = map->l_next)
		if ((found = find_in(map, symbol)))
			return found;
	// Objects before ours other than the program: preloaded ones.
	for (const struct link_map *map = first ? first->l_next : NULL; map && map != ours;
	     map = map->l_next)
		if ((found = find_in(map, symbol)))
			return found;
	return NULL;
}

void *link_map_find_first(const char *symbol)
{
	const struct r_debug *debug = loader_debug();
	void *found;

	for (const struct link_map *map = debug ? debug->r_map : NULL; map; map = map->l_next)
		if (map->l_ld != _DYNAMIC && (found = find_in(map, symbol)))
			return found;
	return NULL;
}

void *link_map_find_in(const char *file_name, const char *symbol)
{
	const struct r_debug *debug = loader_debug();
	size_t length = strlen(file_name);

	for (const struct link_map *map = debug ? debug->r_map : NULL; map; map = map->l_next)
		if (!strncmp(text_base_name(map->l_name), file_name, length))
			return find_in(map, symbol);
	return NULL;
}

bool link_map_is_first(const char *symbol)
{
	const struct r_debug *debug = loader_debug();

	for (const struct link_map *map = debug ? debug->r_map : NULL; map; map = map->l_next) {
		if (map->l_ld == _DYNAMIC)
			return true;
		if (find_in(map, symbol))
			return false;
	}
	return false;
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
	*start = (uint64_t)header;
	*size = 0;
	for (int i = 0; i < header->e_phnum; i++)
		if (phdr[i].p_type == PT_LOAD)
			*size = phdr[i].p_vaddr + phdr[i].p_memsz;
	return *size > 0;
}
