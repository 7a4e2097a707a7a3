#include "server/page/html_file.h"

#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/findings/findings.h"
#include "analysis/names/script_files.h"
#include "hosted/cleanup.h"
#include "hosted/compressor.h"
#include "hosted/encode.h"
#include "hosted/file_name.h"
#include "hosted/intern.h"
#include "server/page/page.h"
#include "server/routes/route.h"

#define VERSION 1

/* Marks beyond are left out, evenly. */
#define MARKS_MOST 16u

/* What a question begins with that is for recordings of scripts. */
#define SCRIPT "script "

/* Rows of a page of sites, as in the questions, and how many pages at most. */
#define PAGE       8000u
#define PAGES_MOST 12u

/* The page may run what is in the file, and load nothing. */
#define POLICY                                                                                     \
	"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "              \
	"script-src 'unsafe-inline' blob:; worker-src blob:; style-src 'unsafe-inline'; "          \
	"img-src data:; base-uri 'none'; form-action 'none'\">\n"

struct instant {
	uint64_t at_ns;
	const char *name;
};

/* The words in capitals of a question. A question with one of the first is asked several times. */
enum word { MOMENT, SKIP, SOURCE, REPEATED, NODES = REPEATED, RECORDING, CONDITIONS, WORDS };

static const char *const words[WORDS] = {
	[MOMENT] = "MOMENT", [NODES] = "NODES",         [SKIP] = "SKIP",
	[SOURCE] = "FILE",   [RECORDING] = "RECORDING", [CONDITIONS] = "FILTER",
};

/* The file while it is written. */
struct html_file {
	struct catalog *catalog;
	const struct html_file_options *options;
	struct dataset *dataset;
	struct buf *out;
	struct instant moments[2 * MARKS_MOST];
	size_t moment_count;
	uint32_t marks_left; /* marks that are no moments of the file */
	struct intern sources;
	VEC(const char *) source_paths;
	const char *values[WORDS]; /* what words stand for now */
	struct buf list;           /* of the answers, as JSON: what each is of, why it is none */
	struct json_writer json;
	size_t answers;
};

static void html_file_deinit(struct html_file *file)
{
	dataset_release(file->dataset);
	intern_deinit(&file->sources);
	vec_deinit(&file->source_paths);
	buf_deinit(&file->list);
}

/* Writes JSON as a script that does not run: packed, as text without a '<'. */
static struct err *put_packed(struct buf *out, const char *id, const struct buf *json)
{
	cleanup(buf_deinit) struct buf packed = BUF_EMPTY;
	struct err *err = gzip_put(&packed, json->data, json->size, GZIP_USUAL);

	if (err)
		return err;
	buf_printf(out, "<script type=\"application/gzip\" id=\"%s\">", id);
	base64_put(out, packed.data, packed.size);
	buf_text(out, "</script>\n");
	return NULL;
}

/* Appends what is left of a body. */
static struct err *read_body(struct body *body, struct buf *buf)
{
	for (;;) {
		char *room = buf_room(buf, BODY_PIECE);
		ssize_t got = room ? body_read(body, room, BODY_PIECE) : 0;

		if (got < 0)
			return err_create(
				"an answer could not be made: no memory, or its file changed");
		if (got == 0)
			return NULL;
		buf->size += (size_t)got;
	}
}

/*
 * Asks the server without a socket: the same request, route and answer as by HTTP, so that nothing
 * is computed or formatted a second time. Appends the body of the answer to buf. target: a path
 * with its query, as a client sends it. *status: HTTP's; if it is not 200, the body is a line of
 * text that says why. The error is the machine's.
 */
static struct err *ask(struct catalog *catalog, const char *target, struct buf *buf,
		       unsigned int *status)
{
	cleanup(request_deinit) struct request request = {.catalog = catalog};
	cleanup(reply_deinit) struct reply reply = {0};
	struct err *err;

	buf_init(&request.filter_key);
	err = reply_refuse_err(&reply, query_parse(target, &request.query));
	if (!err && !reply.status)
		err = route_find(&request, &reply);
	if (!err && !reply.status)
		err = request.route->answer(&request, &reply);
	if (err)
		return err;
	*status = reply.status;
	return read_body(reply.body, buf);
}

/* Writes a line with its words replaced. filter: what FILTER stands for; "" takes it out. */
static void replace_words(struct buf *buf, const struct html_file *file, const char *line,
			  const char *filter)
{
	while (*line) {
		size_t word = 0;

		while (word < WORDS && strncmp(line, words[word], strlen(words[word])) != 0)
			word++;
		if (word == WORDS) {
			buf_char(buf, *line++);
			continue;
		}
		line += strlen(words[word]);
		if (word != CONDITIONS)
			buf_text(buf, file->values[word]);
		else if (*filter)
			buf_text(buf, filter);
		else
			buf->size--; // the '?' or '&' before it
	}
}

/* Asks a line, and writes the answer; or says in the list why there is none. */
static struct err *put_answer(struct html_file *file, const char *line)
{
	cleanup(buf_deinit) struct buf target = BUF_EMPTY;
	cleanup(buf_deinit) struct buf of = BUF_EMPTY; /* the page's question */
	cleanup(buf_deinit) struct buf body = BUF_EMPTY;
	unsigned int status;
	char id[32];
	struct err *err;

	if (line[0] != '/')
		buf_printf(&target, "/data/%s/", file->options->id);
	replace_words(&target, file, line, file->options->conditions);
	replace_words(&of, file, line, "");
	if (!buf_string(&target) || !buf_string(&of))
		return err_no_memory();
	err = ask(file->catalog, target.data, &body, &status);
	if (!err && !buf_string(&body))
		err = buf_finish(&body);
	if (err)
		return err;
	// Without sums there is nothing to show: a condition that this recording cannot answer.
	if (status != MHD_HTTP_OK && strcmp(of.data, "summary") == 0)
		return err_create("%.*s", (int)strcspn(body.data, "\n"), body.data);
	json_object(&file->json);
	json_field_text(&file->json, "of", of.data);
	if (status != MHD_HTTP_OK) {
		json_key(&file->json, "failed");
		json_bytes(&file->json, body.data, strcspn(body.data, "\n"));
	}
	json_end(&file->json);
	snprintf(id, sizeof(id), "answer-%zu", file->answers++);
	return status == MHD_HTTP_OK ? put_packed(file->out, id, &body) : NULL;
}

/* How often a line is asked: for each moment, page of sites or source file. *ret: by which word. */
static size_t times_of(const struct html_file *file, const char *line, enum word *ret)
{
	uint32_t sites;

	for (*ret = 0; *ret < WORDS && !strstr(line, words[*ret]);)
		++*ret;
	switch (*ret) {
	case MOMENT:
		return file->moment_count;
	case SOURCE:
		return file->source_paths.count;
	case SKIP:
		recording_sites(file->dataset->recording, &sites);
		return sites / PAGE < PAGES_MOST ? sites / PAGE + 1 : PAGES_MOST;
	default:
		return 1;
	}
}

/* Asks a line as often as it wants. */
static struct err *put_lines(struct html_file *file, const char *line)
{
	enum word word;
	size_t times = times_of(file, line, &word);
	struct err *err = NULL;

	for (size_t i = 0; i < times && !err; i++) {
		cleanup(buf_deinit) struct buf value = BUF_EMPTY;

		if (word == MOMENT)
			buf_printf(&value, "%juns", (uintmax_t)file->moments[i].at_ns);
		else if (word == SOURCE)
			uri_put(&value, file->source_paths.items[i]);
		else if (word == SKIP)
			buf_u64(&value, i * PAGE);
		if (!buf_string(&value))
			return buf_finish(&value);
		if (word < REPEATED)
			file->values[word] = value.data;
		err = put_answer(file, line);
	}
	return err;
}

/* Asks all questions of the page's list, a text with a line each, which is taken apart. */
static struct err *put_answers(struct html_file *file, char *questions)
{
	const struct html_file_options *options = file->options;
	size_t size = strlen(questions);
	struct err *err = NULL;
	bool scripts = script_files_language(file->dataset->recording);
	char *rest;

	for (char *line = strtok_r(questions, "\n", &rest); line && !err;
	     line = strtok_r(NULL, "\n", &rest)) {
		bool script = strncmp(line, SCRIPT, strlen(SCRIPT)) == 0;

		if (*line != '#' && (!script || scripts))
			err = put_lines(file, line + (script ? strlen(SCRIPT) : 0));
		if (options->progress)
			options->progress(options->argument, (uint64_t)(line - questions), size);
	}
	return err;
}

static void add_moment(struct html_file *file, uint64_t at_ns, const char *name)
{
	for (size_t i = 0; i < file->moment_count; i++)
		if (file->moments[i].at_ns == at_ns)
			return;
	file->moments[file->moment_count++] = (struct instant){at_ns, name};
}

/* Adds the moment that a condition of a finding chooses by its nanoseconds. */
static void add_finding(struct html_file *file, const struct finding_condition *condition)
{
	char *end;
	uint64_t at_ns = strtoull(condition->value, &end, 10);

	if (strcmp(condition->name, "alive_at") == 0 && strcmp(end, "ns") == 0 &&
	    end > condition->value)
		add_moment(file, at_ns, "of what stands out");
}

/* Adds the moments that findings are about. */
static struct err *add_findings(struct html_file *file)
{
	struct dataset *dataset = file->dataset;
	cleanup(findings_destroy_at) struct findings *findings = NULL;
	struct err *err = findings_create(dataset->recording, dataset->symbolized, &findings);
	const struct finding *list;
	uint32_t count;

	if (err)
		return err;
	list = findings_list(findings, &count);
	for (uint32_t i = 0; i < count && file->moment_count < MARKS_MOST; i++)
		for (uint32_t j = 0; j < list[i].condition_count; j++)
			add_finding(file, &list[i].conditions[j]);
	return NULL;
}

/* The moments that the file has: the peak, the end, marks, and those of findings. */
static struct err *find_moments(struct html_file *file)
{
	const struct recording *recording = file->dataset->recording;
	const struct recording_summary *sum = recording_summary(recording);
	uint32_t count;
	const struct recorded_mark *marks = recording_marks(recording, &count);
	uint32_t taken = count < MARKS_MOST ? count : MARKS_MOST;
	struct err *err;

	// A table of what lives now has no other moment; neither has what lives at one.
	if (file->dataset->facts->live || strstr(file->options->conditions, "alive_at="))
		return NULL;
	add_moment(file, sum->peak_time_ns, "peak");
	add_moment(file, file->dataset->facts->duration_ns, "end");
	// A program that was killed while it grew.
	if (file->moment_count == 1)
		file->moments[0].name = "peak and end";
	dataset_lock(file->dataset);
	err = add_findings(file);
	dataset_unlock(file->dataset);
	for (uint32_t i = 0; i < taken; i++) {
		const struct recorded_mark *mark = &marks[(uint64_t)i * count / taken];

		add_moment(file, mark->time_ns, mark->name);
	}
	file->marks_left = count - taken;
	return err;
}

/* The source files that frames of own code name, if sources are shown. */
static struct err *find_sources(struct html_file *file)
{
	const struct source_options *sources = &catalog_options(file->catalog)->sources;
	struct dataset *dataset = file->dataset;
	struct err *err = NULL;
	const char *doubt;
	uint32_t frames;

	recording_frames(dataset->recording, &frames);
	if (!file->options->sources || !sources->served)
		return NULL;
	doubt = source_file_doubt(sources, dataset->facts);
	if (doubt)
		return err_create("%s", doubt);
	dataset_lock(dataset);
	for (uint32_t i = 0; i < frames && !err; i++) {
		const struct named_frame *lines;
		size_t count = 0;

		err = symbolized_frame(dataset->symbolized, i, &lines, &count);
		for (size_t line = 0; !err && line < count; line++) {
			size_t known = file->sources.count;
			const char *path = lines[line].file;

			if (!path || lines[line].plumbing)
				continue;
			path = intern_text(&file->sources, path);
			if (!path ||
			    (file->sources.count > known && !vec_push(&file->source_paths, path)))
				err = err_no_memory();
		}
	}
	dataset_unlock(dataset);
	return err;
}

/* Writes what the file is, behind the answers, whose list is in it. */
static struct err *put_facts(struct html_file *file)
{
	cleanup(buf_deinit) struct buf buf = BUF_EMPTY;
	struct json_writer json;

	json_init(&json, &buf, false);
	json_object(&json);
	json_field_u64(&json, "version", VERSION);
	json_field_text(&json, "mallow", MALLOW_VERSION);
	json_field_text(&json, "name", file->options->name);
	json_field_text(&json, "conditions", file->options->conditions);
	json_field_bool(&json, "anonymous", file->options->anonymous);
	json_field_text(&json, "check", file->options->check);
	json_field_u64(&json, "marks_left", file->marks_left);
	json_key(&json, "moments");
	json_array(&json);
	for (size_t i = 0; i < file->moment_count; i++) {
		json_object(&json);
		json_field_u64(&json, "at_ns", file->moments[i].at_ns);
		json_field_text(&json, "name", file->moments[i].name);
		json_end(&json);
	}
	json_end(&json);
	json_key(&json, "answers");
	json_made(&json, file->list.data, file->list.size);
	json_end(&json);
	return put_packed(file->out, "file", &buf);
}

static void put_file(struct buf *out, const char *path)
{
	const struct page_file *page = page_find(path);

	buf_put(out, page->data, page->size);
}

/* Writes the page up to a tag, which is left out. Returns what is behind it. */
static const char *put_until(struct buf *out, const char *page, const char *tag)
{
	const char *found = strstr(page, tag);

	buf_put(out, page, (size_t)(found - page));
	return found + strlen(tag);
}

/* Writes the page with its style, its script and the answers in it. */
static struct err *put_page(struct html_file *file, const char *page, char *questions)
{
	struct buf *out = file->out;
	struct err *err;

	page = put_until(out, page, "<link rel=\"stylesheet\" href=\"app.css\">");
	buf_text(out, POLICY "<style>");
	put_file(out, "/app.css");
	buf_text(out, "</style>");
	page = put_until(out, page, "<script src=\"app.js\"></script>");
	json_init(&file->json, &file->list, false);
	json_array(&file->json);
	err = put_answers(file, questions);
	json_end(&file->json);
	if (!err)
		err = put_facts(file);
	if (err)
		return err;
	buf_text(out, "<script type=\"text/plain\" id=\"flame-worker\">");
	put_file(out, "/flame_worker.js");
	buf_text(out, "</script>\n<script>");
	put_file(out, "/file.js");
	buf_text(out, "</script>\n<script>");
	put_file(out, "/app.js");
	buf_text(out, "</script>");
	buf_text(out, page);
	return NULL;
}

struct err *html_file_write(struct catalog *catalog, const struct html_file_options *options,
			    struct buf *buf)
{
	cleanup(html_file_deinit) struct html_file file = {
		.catalog = catalog,
		.options = options,
		.out = buf,
	};
	cleanup(buf_deinit) struct buf page = BUF_EMPTY;
	cleanup(buf_deinit) struct buf questions = BUF_EMPTY;
	char nodes[24];
	struct err *err;

	if (!page_find(PAGE_QUESTIONS))
		return err_create("this mallow was built without the web interface (-Dweb=false)");
	put_file(&page, "/");
	put_file(&questions, PAGE_QUESTIONS);
	if (!buf_string(&page) || !buf_string(&questions))
		return err_no_memory();
	snprintf(nodes, sizeof(nodes), "%ju", (uintmax_t)options->nodes);
	file.values[NODES] = nodes;
	file.values[RECORDING] = options->id;
	err = catalog_find(catalog, options->id, &file.dataset);
	if (!err && !file.dataset)
		return err_create("no recording has the id '%s'", options->id);
	if (!err)
		err = find_moments(&file);
	if (!err)
		err = find_sources(&file);
	return err ? err : put_page(&file, page.data, questions.data);
}
