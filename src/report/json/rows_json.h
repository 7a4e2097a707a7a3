/* What a query of a database gives, as JSON. */
#ifndef MALLOW_REPORT_JSON_ROWS_JSON_H
#define MALLOW_REPORT_JSON_ROWS_JSON_H

#include "hosted/json_writer.h"
#include "hosted/sql_database.h"

/* Writes an array with an object for each row. */
void rows_json_write(struct json_writer *json, struct sql_rows *rows);

#endif
