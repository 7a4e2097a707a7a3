#include "agent/event/sink.h"

const struct sink *sink;
