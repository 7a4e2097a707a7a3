/* answer.def as JSON Schema, which is what OpenAPI 3.1 describes answers with. */
#ifndef MALLOW_SERVER_ANSWER_SCHEMA_H
#define MALLOW_SERVER_ANSWER_SCHEMA_H

#include "hosted/json_writer.h"

/* The schema of a type, "frame[]"; of object, string and binary, too. */
void answer_schema_put(struct json_writer *json, const char *type);

/* The rows by their names, as the components that those schemas refer to. */
void answer_schema_put_all(struct json_writer *json);

#endif
