/* `mallow info`: what a recording is, and whether all of it is there. */
#ifndef MALLOW_REPORT_JSON_INFO_JSON_H
#define MALLOW_REPORT_JSON_INFO_JSON_H

#include "analysis/recording.h"
#include "hosted/json_writer.h"

/* Writes one object. modules: with the loaded files and their build ids. */
void info_json_write(struct json_writer *json, const struct recording *recording, bool modules);

/* Writes the field "modules", the loaded files, into the open object. */
void info_json_modules(struct json_writer *json, const struct recording *recording);

#endif
