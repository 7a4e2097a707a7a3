#include "analysis/load/load.h"

struct err *load_pool_ahead(struct load *load, struct decode_event *event)
{
	struct decode_text *name = &event->pool.name;
	const char *kept;

	if (event->kind != TRACE_RECORD_POOL_NAME)
		return NULL;
	kept = intern_bytes(&load->recording->pools.names, name->data, name->size);
	name->data = kept;
	return kept ? NULL : err_no_memory();
}

struct err *load_pool(struct load *load, uint32_t index, const struct load_event *event)
{
	uint32_t node = event->node;
	struct err *err = NULL;

	if (node == LOAD_NODE_LATER)
		err = load_stack(load, &load->streams[index], event->event.time, &node);
	if (err)
		return err;
	return pool_table_take(&load->recording->pools, &event->event, node, load->now,
			       event->thread);
}
