/* /export/html: the web interface with this recording in it, as one file. */
#include <microhttpd.h>

#include "hosted/cleanup.h"
#include "hosted/encode.h"
#include "hosted/file_name.h"
#include "server/page/html_file.h"
#include "server/routes/route.h"

struct err *route_html(struct request *request, struct reply *reply)
{
	cleanup(buf_deinit) struct buf conditions = BUF_EMPTY;
	cleanup(buf_deinit) struct buf page = BUF_EMPTY;
	const struct recording_facts *facts = request->dataset->facts;
	struct html_file_options options = {
		.id = facts->id,
		.nodes = HTML_FILE_NODES,
		.name = file_name(facts->path),
	};
	struct err *err;

	if (facts->writing)
		return reply_refuse(
			reply, MHD_HTTP_CONFLICT,
			"the recording is still being written: its page can be had when "
			"the program has ended");
	// As another request has them.
	for (size_t i = 0; i < request->query.items.count; i++) {
		const struct query_item *item = &request->query.items.items[i];

		buf_printf(&conditions, "%s%s=", i ? "&" : "", item->name);
		uri_put(&conditions, item->value);
	}
	options.conditions = buf_string(&conditions);
	if (!options.conditions)
		return buf_finish(&conditions);
	err = html_file_write(request->catalog, &options, &page);
	return err ? reply_refuse_err(reply, err) : reply_whole(reply, &page);
}
