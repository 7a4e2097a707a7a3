/* The file of a recording as it comes to be: its id, its header, and who is told of it. */
#ifndef MALLOW_AGENT_RECORD_RECORDING_FILE_H
#define MALLOW_AGENT_RECORD_RECORDING_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/record/file.h"

/* A number that no other recording has. */
void recording_file_make_id(uint8_t id[16]);

/*
 * Makes the file, with its header mapped. later: another image of the run has come before. false:
 * there is none, which was said.
 */
bool recording_file_create(struct file *file, bool later);

/*
 * recording->file is there: writes the header, by process_id and that of the recording which this
 * one descends from, and tells `mallow run`. And tells the log.
 */
void recording_file_open(bool forked, const uint8_t parent[16]);
void recording_file_say(void);

#endif
