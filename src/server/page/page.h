/*
 * The web interface: a page that asks the paths of route.def. Its files are part of the tool, made
 * of web/ by the build, so it needs no network and fits the server that it comes from.
 */
#ifndef MALLOW_SERVER_PAGE_PAGE_H
#define MALLOW_SERVER_PAGE_PAGE_H

#include "server/http/reply.h"

/*
 * What the page may do in a browser: run its own script, ask its own server. Nothing that a
 * recording has in a name can make it load or send anything.
 */
#define PAGE_POLICY                                                                                \
	"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "            \
	"worker-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; "           \
	"frame-ancestors 'none'"

/* The list of questions for html_file.h, as page_find() knows it. */
#define PAGE_QUESTIONS "/file_questions.txt"

struct page_file {
	const char *path; /* of the request */
	const char *type; /* its Content-Type */
	const unsigned char *data;
	size_t size;
};

/* The file of a target, a path with or without a query. NULL: none of the page's. */
const struct page_file *page_find(const char *target);

/* Answers with the file. Returns NULL, or an error: no memory. */
struct err *page_answer(const struct page_file *file, struct reply *reply);

#endif
