#include "agent/ground/object_symbols.h"

#include <elf.h>

#include "agent/ground/libc.h"

/* glibc relocates the pointers of a dynamic section in place; musl and the vDSO do not. */
static void *pointer(const struct link_map *map, uint64_t value)
{
	return (void *)(uintptr_t)(value < map->l_addr ? value + map->l_addr : value);
}

struct object_symbols object_symbols_of(const struct link_map *map)
{
	struct object_symbols symbols = {.bias = map->l_addr};

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

static uint32_t next_gnu(const struct object_symbols *symbols, const char *name, uint32_t after)
{
	const uint32_t *table = symbols->gnu_hash;
	uint32_t bucket_count = table[0];
	uint32_t offset = table[1];
	uint32_t bloom_words = table[2];
	const uint32_t *buckets = table + 4 + bloom_words * (sizeof(ElfW(Addr)) / 4);
	const uint32_t *chain = buckets + bucket_count;
	uint32_t hash = 5381;

	for (const char *c = name; *c; c++)
		hash = hash * 33 + (unsigned char)*c;
	if (!bucket_count || buckets[hash % bucket_count] < offset)
		return 0;
	for (uint32_t i = buckets[hash % bucket_count];; i++) {
		uint32_t entry = chain[i - offset];

		if (i > after && (entry | 1) == (hash | 1) &&
		    !strcmp(symbols->strings + symbols->table[i].st_name, name))
			return i;
		if (entry & 1)
			return 0;
	}
}

static uint32_t next_sysv(const struct object_symbols *symbols, const char *name, uint32_t after)
{
	uint32_t bucket_count = symbols->hash[0];
	const uint32_t *buckets = symbols->hash + 2;
	const uint32_t *chain = buckets + bucket_count;
	uint32_t hash = 0, i;

	for (const char *c = name; *c; c++) {
		hash = (hash << 4) + (unsigned char)*c;
		hash = (hash ^ (hash >> 24 & 0xf0)) & 0x0fffffff;
	}
	i = after ? chain[after] : bucket_count ? buckets[hash % bucket_count] : 0;
	while (i && strcmp(symbols->strings + symbols->table[i].st_name, name))
		i = chain[i];
	return i;
}

uint32_t object_symbols_next(const struct object_symbols *symbols, const char *name, uint32_t after)
{
	if (!symbols->table || !symbols->strings)
		return 0;
	if (symbols->gnu_hash)
		return next_gnu(symbols, name, after);
	return symbols->hash ? next_sysv(symbols, name, after) : 0;
}

bool object_symbols_is_function(const ElfW(Sym) * symbol)
{
	int type = ELF64_ST_TYPE(symbol->st_info);

	return symbol->st_shndx != SHN_UNDEF && (type == STT_FUNC || type == STT_GNU_IFUNC);
}
