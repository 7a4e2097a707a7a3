/* See code_tables.h. */
#include "ebpf/unwind/code_tables.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

#include "hosted/cleanup.h"

struct err *code_tables_compile(struct code_tables *tables, const struct target *target)
{
	for (size_t i = tables->modules.count; i < target->modules.count; i++) {
		struct module_rows rows = {.first = (uint32_t)tables->rows.list.count};
		struct err *err =
			unwind_table_add(&target->modules.items[i], &tables->rules, &tables->rows);

		if (err)
			return err;
		rows.count = (uint32_t)tables->rows.list.count - rows.first;
		if (!vec_push(&tables->modules, rows))
			return err_no_memory();
	}
	return NULL;
}

void code_tables_deinit(struct code_tables *tables)
{
	vec_deinit(&tables->rows.list);
	vec_deinit(&tables->modules);
}

/* Appends the rows that are new, as far as there is room for whole modules. */
static void upload_rows(struct code_tables *tables, const struct code_maps *maps)
{
	for (size_t i = 0; i < tables->modules.count; i++) {
		struct module_rows *rows = &tables->modules.items[i];

		if (rows->first < tables->uploaded || !rows->count)
			continue;
		if (rows->first + rows->count > maps->row_count) {
			tables->left_out++;
			rows->count = 0;
			continue;
		}
		memcpy(maps->rows + rows->first, tables->rows.list.items + rows->first,
		       rows->count * sizeof(*maps->rows));
	}
	tables->uploaded = (uint32_t)tables->rows.list.count;
}

static struct err *upload_rules(const struct code_tables *tables, const struct code_maps *maps)
{
	for (uint32_t i = 1; i < tables->rules.count; i++)
		if (bpf_map_update_elem(maps->rules, &i, &tables->rules.list[i], BPF_ANY))
			return err_create_errno(errno, "the table of unwind rules");
	return NULL;
}

/* How many spans are in files: these come first if there is no room for all. */
static size_t count_in_files(const struct target *target)
{
	size_t count = 0;

	for (size_t i = 0; i < target->spans.count; i++)
		count += target->spans.items[i].module != TARGET_NO_MODULE;
	return count;
}

static struct err *upload_spans(struct code_tables *tables, const struct target *target,
				const struct code_maps *maps)
{
	auto_free struct bpf_spans *spans = calloc(1, sizeof(*spans));
	uint32_t next = !(maps->state->spans & 1);
	size_t in_files = count_in_files(target);
	size_t room_for_made = in_files < SPANS_MAX ? SPANS_MAX - in_files : 0;

	if (!spans)
		return err_no_memory();
	for (size_t i = 0; i < target->spans.count && spans->count < SPANS_MAX; i++) {
		const struct target_span *from = &target->spans.items[i];
		struct bpf_span *to = &spans->list[spans->count];

		if (from->module == TARGET_NO_MODULE && !room_for_made)
			continue;
		*to = (struct bpf_span){.start = from->start, .end = from->end, .bias = from->bias};
		if (from->module == TARGET_NO_MODULE) {
			room_for_made--;
		} else {
			to->first_row = tables->modules.items[from->module].first;
			to->rows = tables->modules.items[from->module].count;
		}
		spans->count++;
	}
	tables->spans_left_out = (uint32_t)(target->spans.count - spans->count);
	if (bpf_map_update_elem(maps->spans, &next, spans, BPF_ANY))
		return err_create_errno(errno, "the table of mapped code");
	__atomic_store_n(&maps->state->spans, next, __ATOMIC_RELEASE);
	return NULL;
}

struct err *code_tables_upload(struct code_tables *tables, const struct target *target,
			       const struct code_maps *maps)
{
	struct err *err = upload_rules(tables, maps);

	upload_rows(tables, maps);
	if (!err)
		err = upload_spans(tables, target, maps);
	// A program that still uses the old spans may put an old rule there afterwards: the address
	// would have to be used for other code within its microseconds.
	for (size_t i = 0; i < RULE_CACHE_SIZE; i++)
		__atomic_store_n(&maps->rule_cache[i], 0, __ATOMIC_RELAXED);
	return err;
}
