/*
 * Modules and debug files for a receiver that asks for them. Only those are sent that the recording
 * names: by what its chunks say, not by what the receiver says.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "hosted/cleanup.h"
#include "stream/modules/module_file.h"
#include "stream/modules/named_modules.h"
#include "stream/sender/sender_data.h"

#define ASKED_MAX  (2 * NAMED_MODULES_MAX) /* files that wait to be sent */
#define PIECE_SIZE (256u << 10)

/* Where the modules of the recording are noted. */
static struct err *begin_notes(struct outgoing *outgoing, struct byte_source *source)
{
	*source = (struct byte_source){.name = outgoing->recording->name,
				       .fd = outgoing->recording->fd};
	return outgoing->modules ? NULL : named_modules_create(&outgoing->modules);
}

struct err *send_files_note(struct outgoing *outgoing, uint64_t offset, uint32_t size)
{
	struct byte_source source;
	struct err *err = begin_notes(outgoing, &source);

	return err ? err : module_walk_chunk(outgoing->modules, &source, offset, size);
}

/* The path of the module. NULL: the recording names none with that build id. */
static struct err *path_of(struct outgoing *outgoing, const struct message *message,
			   const char **ret)
{
	const struct module_walk_goal goal = {.build_id = message->need.build_id,
					      .size = message->need.build_id_size};
	struct byte_source source;
	struct err *err = begin_notes(outgoing, &source);

	// Most modules are named at the beginning.
	if (!err)
		err = module_walk(outgoing->modules, &source, MODULE_WALK_NEW, &goal,
				  &outgoing->walk);
	*ret = err ? NULL : named_modules_find(outgoing->modules, goal.build_id, goal.size);
	if (err || *ret)
		return err;
	err = module_walk(outgoing->modules, &source, MODULE_WALK_ALL, &goal, &outgoing->walk);
	*ret = err ? NULL : named_modules_find(outgoing->modules, goal.build_id, goal.size);
	return err;
}

struct err *send_files_ask(struct connection *connection, struct outgoing *outgoing,
			   const struct message *message)
{
	struct asked_file file = {
		.recording = outgoing->number, .request = message->need.request, .fd = -1};
	bool found = false;
	const char *path;
	struct err *err;

	if (connection->files.count >= ASKED_MAX)
		return err_create("%s: it asks for too many files", connection->peer);
	err = path_of(outgoing, message, &path);
	if (!err && path)
		err = module_file_open(message->need.what, message->need.build_id,
				       message->need.build_id_size, path, &file.fd, &file.size,
				       &found);
	if (err)
		return err;
	if (vec_push(&connection->files, file))
		return NULL;
	if (file.fd >= 0)
		close(file.fd);
	return err_no_memory();
}

/* Ends the first file. */
static struct err *end_file(struct connection *connection, uint8_t absent)
{
	struct asked_file file = connection->files.items[0];
	uint8_t bytes[5];

	if (file.fd >= 0)
		close(file.fd);
	memmove(connection->files.items, connection->files.items + 1,
		--connection->files.count * sizeof(*connection->files.items));
	memcpy(bytes, &file.request, sizeof(file.request));
	bytes[4] = absent;
	return send_message(connection, MESSAGE_FILE_END, file.recording, bytes, sizeof(bytes),
			    NULL, 0);
}

struct err *send_files_piece(struct connection *connection, bool *more)
{
	struct asked_file *file = connection->files.items;
	uint8_t head[12];
	auto_free uint8_t *piece = NULL;
	ssize_t got;
	struct err *err;

	*more = connection->files.count > 0;
	if (!*more)
		return NULL;
	if (file->fd < 0)
		return end_file(connection, 1);
	piece = malloc(PIECE_SIZE);
	if (!piece)
		return err_no_memory();
	got = pread(file->fd, piece, PIECE_SIZE, (off_t)file->at);
	if (got <= 0)
		return end_file(connection, got < 0);
	memcpy(head, &file->request, sizeof(file->request));
	memcpy(head + 4, &file->at, sizeof(file->at));
	file->at += (uint64_t)got;
	sender_note_progress(connection->sender);
	// send_message() takes answers, which may move the array.
	err = send_message(connection, MESSAGE_FILE, file->recording, head, sizeof(head), piece,
			   (size_t)got);
	return err;
}

void send_files_close(struct connection *connection)
{
	for (size_t i = 0; i < connection->files.count; i++)
		if (connection->files.items[i].fd >= 0)
			close(connection->files.items[i].fd);
	vec_deinit(&connection->files);
}
