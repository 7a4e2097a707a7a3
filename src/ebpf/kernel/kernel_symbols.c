#include "ebpf/kernel/kernel_symbols.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/first_where.h"
#include "hosted/arena.h"
#include "hosted/cleanup.h"
#include "hosted/vec.h"

/* No function is larger: an address further behind the last symbol is in none. */
#define FUNCTION_SIZE_MAX (1u << 20)

struct symbol {
	uint64_t address;
	uint32_t rank; /* its place in the file: of several at one address the first counts */
	const char *name, *module;
};

struct kernel_symbols {
	VEC(struct symbol) list; /* sorted by address */
	struct arena arena;
};

static int by_address(const void *left, const void *right)
{
	const struct symbol *a = left, *b = right;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return (a->rank > b->rank) - (a->rank < b->rank);
}

/* A line: "ffffffff8100 T name\t[module]". */
static struct err *add_line(struct kernel_symbols *symbols, char *line, uint32_t rank)
{
	char *rest, *name, *module = NULL;
	struct symbol symbol = {.address = strtoull(line, &rest, 16), .rank = rank};

	if (rest[0] != ' ' || !rest[1] || rest[2] != ' ')
		return NULL;
	name = rest + 3;
	name[strcspn(name, "\n")] = 0;
	rest = strchr(name, '\t');
	if (rest) {
		*rest = 0;
		if (rest[1] == '[')
			module = rest + 2;
		if (module)
			module[strcspn(module, "]")] = 0;
	}
	symbol.name = arena_text(&symbols->arena, name);
	symbol.module = module ? arena_text(&symbols->arena, module) : "kernel";
	if (!symbol.name || !symbol.module || !vec_push(&symbols->list, symbol))
		return err_no_memory();
	return NULL;
}

struct err *kernel_symbols_reread(struct kernel_symbols *symbols)
{
	auto_fclose FILE *file = fopen("/proc/kallsyms", "re");
	char line[512];
	struct err *err = NULL;

	if (!file)
		return err_create_errno(errno, "/proc/kallsyms");
	symbols->list.count = 0;
	arena_deinit(&symbols->arena);
	symbols->arena = (struct arena){0};
	for (uint32_t rank = 0; !err && fgets(line, sizeof(line), file); rank++)
		err = add_line(symbols, line, rank);
	if (err || !symbols->list.count)
		return err;
	qsort(symbols->list.items, symbols->list.count, sizeof(*symbols->list.items), by_address);
	if (!symbols->list.items[symbols->list.count - 1].address)
		return err_create(
			"the kernel hides its addresses from us (/proc/kallsyms has only "
			"zeros): run mallow as root with 'sysctl kernel.kptr_restrict=1', "
			"or give it CAP_SYSLOG");
	return NULL;
}

struct err *kernel_symbols_create(struct kernel_symbols **ret)
{
	struct kernel_symbols *symbols = calloc(1, sizeof(*symbols));
	struct err *err = symbols ? kernel_symbols_reread(symbols) : err_no_memory();

	if (err) {
		kernel_symbols_destroy(symbols);
		return err;
	}
	*ret = symbols;
	return NULL;
}

void kernel_symbols_destroy(struct kernel_symbols *symbols)
{
	if (!symbols)
		return;
	vec_deinit(&symbols->list);
	arena_deinit(&symbols->arena);
	free(symbols);
}

bool kernel_symbols_find(const struct kernel_symbols *symbols, uint64_t address,
			 struct kernel_name *ret)
{
	size_t behind =
		first_where(i, 0, symbols->list.count, symbols->list.items[i].address > address);
	const struct symbol *symbol;

	if (!behind)
		return false;
	symbol = &symbols->list.items[behind - 1];
	if (address - symbol->address > FUNCTION_SIZE_MAX)
		return false;
	// Of several at that address, the first.
	while (symbol > symbols->list.items && symbol[-1].address == symbol->address)
		symbol--;
	*ret = (struct kernel_name){symbol->name, address - symbol->address, symbol->module};
	return true;
}
