/* Writes text into XML. */
#ifndef MALLOW_REPORT_EXPORT_XML_TEXT_H
#define MALLOW_REPORT_EXPORT_XML_TEXT_H

#include "hosted/buf.h"

/*
 * Writes any bytes as the content of an element or of a quoted attribute. Hidden
 * characters become \xNN (base/shown_text.h), the two others that XML 1.0 forbids U+FFFD.
 */
void xml_text(struct buf *buf, const char *text);

#endif
