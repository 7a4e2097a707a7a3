/* Mappings that the program made as JSON: `map` of answer.def. */
#ifndef MALLOW_SERVER_ANSWERS_MAP_JSON_H
#define MALLOW_SERVER_ANSWERS_MAP_JSON_H

#include "analysis/views/map_lives.h"
#include "hosted/json_writer.h"
#include "server/data/dataset.h"

/* Some of a recording's mappings. */
struct map_page {
	struct dataset *dataset;
	const struct mapping_operation *operations;
	struct map_lives lives;
	enum stack_form form;
	bool strip;
	bool regions, history; /* these are wanted, too */
};

/* Writes the object. number: index in lives. Call it under the data set's lock. */
struct err *map_json_put(struct json_writer *json, const struct map_page *page, uint32_t number);

#endif
