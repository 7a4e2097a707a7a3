#include "analysis/load/load.h"

struct err *load_pool_ahead(struct load *load, struct decode_event *event)
{
	struct decode_text *name = &event->pool.name;
	const char *kept;

	if (event->kind != TRACE_RECORD_POOL_NAME)
		return NULL;
	kept = intern_bytes(&load->recording->pools->names, name->data, name->size);
	name->data = kept;
	return kept ? NULL : err_no_memory();
}

struct err *load_pool(struct load *load, uint32_t index, uint32_t thread, struct load_event *event)
{
	struct err *err = load_event_stack(load, index, event);

	return err ? err
		   : pool_table_take(load->recording->pools, &event->event, event->node, load->now,
				     thread);
}
