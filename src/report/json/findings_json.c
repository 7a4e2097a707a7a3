#include "report/json/findings_json.h"

#include "hosted/cleanup.h"
#include "report/words/finding_sentence.h"
#include "report/words/headline.h"
#include "report/json/mappings_json.h"

static const struct style plain;

/* Writes the text of a buffer in memory, and empties it. */
static struct err *put_text(struct json_writer *json, const char *key, struct buf *text)
{
	const char *string = buf_string(text);

	if (!string)
		return buf_finish(text);
	json_field_text(json, key, string);
	text->size = 0;
	return NULL;
}

static struct err *put_frame(struct json_writer *json, struct json_stacks *stacks,
			     const struct named_frame *frame, uint32_t stack)
{
	json_stacks_function(json, frame);
	json_field_text(json, "file", frame ? frame->file : NULL);
	json_key(json, "line");
	if (frame && frame->line)
		json_u64(json, frame->line);
	else
		json_null(json);
	json_field_text(json, "module", frame ? frame->module : NULL);
	json_key(json, "stack");
	return json_stacks_put(stacks, json, stack);
}

static struct err *put_headline(struct json_writer *json, struct json_stacks *stacks,
				const struct headline *headline)
{
	cleanup(buf_deinit) struct buf text = BUF_EMPTY;
	struct err *err;

	json_object(json);
	headline_write_peak(&text, &plain, headline);
	err = put_text(json, "sentence", &text);
	if (err)
		return err;
	headline_write_facts(&text, &plain, headline);
	err = put_text(json, "second", &text);
	if (err)
		return err;
	headline_write_freed(&text, &plain, headline);
	err = put_text(json, "freed", &text);
	if (err)
		return err;
	json_field_text(json, "clause", headline_clause_name(headline->clause));
	json_field_u64(json, "peak_bytes", headline->peak_bytes);
	json_field_u64(json, "peak_blocks", headline->peak_blocks);
	json_field_u64(json, "peak_ns", headline->peak_ns);
	json_field_u64(json, "function_bytes", headline->function.value);
	json_field_bool(json, "inclusive", headline->function.inclusive);
	if (headline->clause == HEADLINE_BLOCK) {
		json_field_u64(json, "block_bytes", headline->block_bytes);
		json_field_u64(json, "block_lived_ns", headline->block_lived_ns);
		json_field_bool(json, "block_freed", headline->block_freed);
	}
	if (headline->clause == HEADLINE_STEADY)
		json_field_u64(json, "steady_ns", headline->steady_ns);
	err = put_frame(json, stacks, headline->function.frame, headline->function.stack);
	if (!err)
		json_end(json);
	return err;
}

static struct err *put_finding(struct json_writer *json, struct json_stacks *stacks,
			       const struct recording *recording, const struct finding *finding)
{
	cleanup(buf_deinit) struct buf text = BUF_EMPTY;
	struct err *err;

	json_object(json);
	json_field_text(json, "kind", finding_name(finding->kind));
	finding_sentence_write(&text, &plain, recording, finding);
	err = put_text(json, "sentence", &text);
	if (err)
		return err;
	json_field_u64(json, "bytes", finding->bytes);
	json_field_text(json, "confidence", finding_trust_name(finding->trust));
	json_field_object(json, "numbers");
	for (int i = 0; i < FINDING_NUMBER_COUNT; i++)
		if (finding_has(finding, (enum finding_number)i))
			json_field_u64(json, finding_number_name((enum finding_number)i),
				       finding->numbers[i]);
	json_end(json);
	json_field_object(json, "conditions");
	for (uint32_t i = 0; i < finding->condition_count; i++)
		json_field_text(json, finding->conditions[i].name, finding->conditions[i].value);
	json_end(json);
	json_field_text(json, "view", finding->view);
	json_field_text(json, "sort", finding->sort);
	json_field_bool(json, "inclusive", finding->inclusive);
	json_field_u64(json, "lines", finding->lines);
	json_field_text(json, "call", finding->call ? finding->call->function : NULL);
	err = put_frame(json, stacks, finding->frame, finding->stack);
	if (!err)
		json_end(json);
	return err;
}

struct err *findings_json_write(struct json_writer *json, struct json_stacks *stacks,
				const struct recording *recording, struct symbolized *symbolized)
{
	cleanup(findings_destroy_at) struct findings *findings = NULL;
	const struct finding *list;
	struct headline headline;
	uint32_t count;
	struct err *err;

	err = findings_create(recording, symbolized, &findings);
	if (!err)
		err = headline_make(recording, findings, &headline);
	if (err)
		return err;
	if (findings_resident(findings)) {
		json_field_object(json, "mapped");
		mappings_json_sum(json, &findings_resident(findings)->own);
		json_end(json);
	}
	json_key(json, "headline");
	err = put_headline(json, stacks, &headline);
	if (err)
		return err;
	if (findings_missing(findings))
		json_field_text(json, "findings_missing", findings_missing(findings));
	json_field_array(json, "findings");
	list = findings_list(findings, &count);
	for (uint32_t i = 0; !err && i < count; i++)
		err = put_finding(json, stacks, recording, &list[i]);
	if (!err)
		json_end(json);
	return err;
}
