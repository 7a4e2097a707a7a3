/* /source: the text of a source file that a frame names, if the user lets it be shown. */
#include <microhttpd.h>
#include <string.h>

#include "hosted/cleanup.h"
#include "server/routes/route.h"
#include "server/data/source_file.h"

/* *ret: whether a frame of the recording is in that file. The data set is locked. */
static struct err *is_named(const struct dataset *dataset, const char *file, bool *ret)
{
	uint32_t frames;

	*ret = false;
	recording_frames(dataset->recording, &frames);
	for (uint32_t i = 0; i < frames && !*ret; i++) {
		const struct named_frame *lines;
		size_t count;
		struct err *err = symbolized_frame(dataset->symbolized, i, &lines, &count);

		if (err)
			return err;
		for (size_t line = 0; line < count; line++)
			*ret |= lines[line].file && strcmp(lines[line].file, file) == 0;
	}
	return NULL;
}

static struct err *answer_text(const char *file, const struct source_file *source,
			       const struct dataset *dataset, struct reply *reply)
{
	const char *at = source->text.data, *end = at ? at + source->text.size : NULL;
	uint64_t changed_ns =
		(uint64_t)source->changed.tv_sec * 1000000000 + (uint64_t)source->changed.tv_nsec;
	cleanup(buf_deinit) struct buf buf = BUF_EMPTY;
	struct json_writer json;

	json_init(&json, &buf, false);
	json_object(&json);
	json_field_text(&json, "file", file);
	json_field_text(&json, "path", source->path);
	// Since the program ran, the text may have become another one.
	json_field_bool(&json, "newer", changed_ns > dataset->facts->start_realtime_ns);
	json_key(&json, "lines");
	json_array(&json);
	while (at && at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *next = newline ? newline : end;

		json_bytes(&json, at, (size_t)(next - at));
		at = newline ? newline + 1 : end;
	}
	json_end(&json);
	json_end(&json);
	return reply_whole(reply, &buf);
}

struct err *route_source(struct request *request, struct reply *reply)
{
	cleanup(source_file_deinit) struct source_file source = {0};
	const struct source_options *options = &catalog_options(request->catalog)->sources;
	const char *file = request->texts[PARAMETER_SOURCE_FILE];
	struct dataset *dataset = request->dataset;
	const char *doubt;
	struct err *err;
	bool named;

	if (!options->served)
		return reply_refuse(reply, MHD_HTTP_FORBIDDEN,
				    "sources are not shown: start 'mallow serve' with --sources");
	if (!file)
		return reply_refuse(reply, MHD_HTTP_BAD_REQUEST,
				    "no 'file': which source file is asked for?");
	doubt = source_file_doubt(options, dataset->facts);
	if (doubt)
		return reply_refuse(reply, MHD_HTTP_FORBIDDEN, "%s", doubt);
	dataset_lock(dataset);
	err = is_named(dataset, file, &named);
	dataset_unlock(dataset);
	if (err)
		return err;
	if (!named)
		return reply_refuse(reply, MHD_HTTP_NOT_FOUND,
				    "no frame of this recording is in '%s'", file);
	err = source_file_read(options, dataset->facts, file, &source);
	if (err)
		return request_refuse_err(request, reply, err);
	if (source.path)
		return answer_text(file, &source, dataset, reply);
	if (options->directory)
		return reply_refuse(reply, MHD_HTTP_NOT_FOUND,
				    "'%s' is not below '%s': start 'mallow serve' with "
				    "--sources=DIR, where it lies",
				    file, options->directory);
	return reply_refuse(reply, MHD_HTTP_NOT_FOUND,
			    "'%s' is not there: if it lies elsewhere, start 'mallow serve' with "
			    "--sources=DIR",
			    file);
}
