/* Reads the query of a request: parameters, conditions, and those of the other side of a
 * difference. */
#ifndef MALLOW_SERVER_HTTP_REQUEST_QUERY_H
#define MALLOW_SERVER_HTTP_REQUEST_QUERY_H

#include "server/http/request.h"

/*
 * Sets what the query says: the values of request, and request->before if some of it begins with
 * "b.". Its query and its route must be set. If it is wrong, the reply says so.
 */
struct err *request_take_query(struct request *request, struct reply *reply);

#endif
