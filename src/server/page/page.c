#include "server/page/page.h"

#include <string.h>

#include "base/compiler.h"
#include "hosted/cleanup.h"
#include "server/page_files.h" // made by the build

#define HTML "text/html; charset=utf-8"
#define CSS  "text/css; charset=utf-8"
#define CODE "text/javascript; charset=utf-8"
#define TEXT "text/plain; charset=utf-8"

static const struct page_file page_files[] = {
	{"/", HTML, page_index_html, sizeof(page_index_html)},
#ifdef PAGE_IS_WHOLE
	{"/app.css", CSS, page_app_css, sizeof(page_app_css)},
	{"/app.js", CODE, page_app_js, sizeof(page_app_js)},
	{"/file.js", CODE, page_file_js, sizeof(page_file_js)},
	{"/flame_worker.js", CODE, page_flame_worker_js, sizeof(page_flame_worker_js)},
	{PAGE_QUESTIONS, TEXT, page_file_questions_txt, sizeof(page_file_questions_txt)},
#endif
};

const struct page_file *page_find(const char *target)
{
	size_t length = strcspn(target, "?");

	for (size_t i = 0; i < ARRAY_COUNT(page_files); i++)
		if (strlen(page_files[i].path) == length &&
		    memcmp(page_files[i].path, target, length) == 0)
			return &page_files[i];
	return NULL;
}

struct err *page_answer(const struct page_file *file, struct reply *reply)
{
	cleanup(buf_deinit) struct buf buf = BUF_EMPTY;
	struct err *err;

	buf_put(&buf, file->data, file->size);
	err = reply_whole(reply, &buf);
	if (err)
		return err;
	reply->type = file->type;
	reply->small = true;
	return NULL;
}
