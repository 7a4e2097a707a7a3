/* Names of the functions that allocate and free: docs/trace-format.md, section 6. */
#ifndef MALLOW_TRACE_OPERATION_H
#define MALLOW_TRACE_OPERATION_H

#include <stdint.h>

/*
 * The name that people know an operation by (enum trace_op): "malloc", "operator delete[]"; of the
 * records that are no functions "stack", "time", "resync". Two operations may share a name: a
 * realloc of NULL and one of a block. NULL: there is no such operation.
 */
const char *operation_name(uint64_t operation);

#endif
