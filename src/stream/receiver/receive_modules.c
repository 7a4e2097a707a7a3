#include <string.h>

#include "hosted/cleanup.h"
#include "stream/receiver/gather_data.h"

#define WAITING_MAX 512u /* files that are asked for at a time */

/* Asks for one file, if this machine has none. */
static struct err *ask_for(struct gather *gather, struct incoming *incoming, uint8_t what,
			   size_t number, receive_ask *ask, void *argument)
{
	const struct named_module *module = named_modules_at(incoming->modules, number);
	const struct asked_module asked = {
		.request = incoming->next_request, .what = what, .module = number};
	bool lacks;
	struct err *err;

	err = module_store_lacks(gather->store, what, module->build_id, module->build_id_size,
				 module->path, &lacks);
	if (err) {
		// Without the file there are fewer names. That is not worth the recording.
		gather_say(gather, "%s: %s: its file is not asked for", incoming->name,
			   err_message(err));
		err_destroy(err);
		return NULL;
	}
	if (!lacks)
		return NULL;
	if (!vec_push(&incoming->asked, asked))
		return err_no_memory();
	incoming->next_request++;
	return ask(argument, asked.request, what, module->build_id, module->build_id_size);
}

struct err *receive_modules_ask(struct gather *gather, struct incoming *incoming, receive_ask *ask,
				void *argument)
{
	struct byte_source source = {.name = incoming->name, .fd = incoming->fd};
	struct err *err = NULL;

	if (!gather->store)
		return NULL;
	if (!incoming->modules)
		err = named_modules_create(&incoming->modules);
	// At the end all chunks: some may have come to places that were passed.
	if (!err)
		err = module_walk(incoming->modules, &source,
				  incoming->ended ? MODULE_WALK_ALL : MODULE_WALK_NEW, NULL,
				  &incoming->walk);
	while (!err && incoming->modules_asked < named_modules_count(incoming->modules) &&
	       incoming->asked.count < WAITING_MAX) {
		err = ask_for(gather, incoming, MESSAGE_MODULE, incoming->modules_asked, ask,
			      argument);
		if (!err)
			err = ask_for(gather, incoming, MESSAGE_DEBUG_FILE, incoming->modules_asked,
				      ask, argument);
		incoming->modules_asked++;
	}
	return err;
}

static struct asked_module *find_asked(struct incoming *incoming, uint32_t request)
{
	for (size_t i = 0; i < incoming->asked.count; i++)
		if (incoming->asked.items[i].request == request)
			return &incoming->asked.items[i];
	return NULL;
}

/* It is not worth the recording: without the file there are fewer names. */
static void drop_file(struct gather *gather, struct incoming *incoming, struct asked_module *asked,
		      struct err *err)
{
	gather_say(gather, "%s: %s: no names from '%s'", incoming->name, err_message(err),
		   named_modules_at(incoming->modules, asked->module)->path);
	err_destroy(err);
	module_store_abandon(asked->file);
	asked->file = NULL;
	asked->failed = true;
}

static void take_part(struct gather *gather, struct incoming *incoming, struct asked_module *asked,
		      const struct message *message)
{
	const struct named_module *module = named_modules_at(incoming->modules, asked->module);
	struct err *err = NULL;

	if (asked->failed)
		return;
	if (!asked->file)
		err = module_store_begin(gather->store, asked->what, module->build_id,
					 module->build_id_size, &asked->file);
	if (!err)
		err = module_store_append(asked->file, message->data.offset, message->data.data,
					  message->data.size);
	if (err)
		drop_file(gather, incoming, asked, err);
}

static void take_end(struct gather *gather, struct incoming *incoming, struct asked_module *asked,
		     bool absent)
{
	struct err *err = NULL;

	if (absent)
		module_store_abandon(steal(&asked->file));
	else if (asked->file)
		err = module_store_commit(steal(&asked->file));
	if (err)
		drop_file(gather, incoming, asked, err);
	*asked = incoming->asked.items[--incoming->asked.count];
}

struct err *receive_modules_take(struct gather *gather, struct incoming *incoming,
				 const struct message *message)
{
	bool end = message->kind == MESSAGE_FILE_END;
	struct asked_module *asked =
		find_asked(incoming, end ? message->file_end.request : message->data.request);

	if (!asked)
		return err_create("it sends a file that nobody asked for");
	if (end)
		take_end(gather, incoming, asked, message->file_end.absent);
	else
		take_part(gather, incoming, asked, message);
	return NULL;
}

bool receive_modules_waits(const struct incoming *incoming)
{
	return incoming->asked.count > 0 ||
	       (incoming->modules &&
		incoming->modules_asked < named_modules_count(incoming->modules));
}
