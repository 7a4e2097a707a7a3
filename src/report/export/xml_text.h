/* Writes text into XML. */
#ifndef MALLOW_REPORT_EXPORT_XML_TEXT_H
#define MALLOW_REPORT_EXPORT_XML_TEXT_H

#include "hosted/buf.h"

/*
 * Writes any bytes as the content of an element or of a quoted attribute. What XML 1.0 cannot
 * express (control characters, surrogates, invalid UTF-8) becomes U+FFFD.
 */
void xml_text(struct buf *buf, const char *text);

#endif
