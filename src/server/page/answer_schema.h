/* Writes answer.def as JSON Schema, which OpenAPI 3.1 uses to describe answers. */
#ifndef MALLOW_SERVER_PAGE_ANSWER_SCHEMA_H
#define MALLOW_SERVER_PAGE_ANSWER_SCHEMA_H

#include "hosted/json_writer.h"

/* Writes the schema of a type: "frame[]", or object, string, binary. */
void answer_schema_put(struct json_writer *json, const char *type);

/* Writes all rows by name, as the components that these schemas refer to. */
void answer_schema_put_all(struct json_writer *json);

#endif
