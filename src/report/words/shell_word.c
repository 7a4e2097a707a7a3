#include "report/words/shell_word.h"

#include <string.h>

#include "report/words/style.h"

void shell_word_put(struct buf *buf, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_-./,:+@%=";

	if (*word && word[strspn(word, plain)] == 0) {
		buf_text(buf, word);
		return;
	}
	buf_char(buf, '\'');
	for (const char *quote; (quote = strchr(word, '\'')) != NULL; word = quote + 1) {
		style_safe_text(buf, word, (size_t)(quote - word));
		buf_text(buf, "'\\''");
	}
	style_safe_text(buf, word, strlen(word));
	buf_char(buf, '\'');
}

void shell_path_put(struct buf *buf, const char *path)
{
	if (*path == '-')
		buf_text(buf, "./");
	shell_word_put(buf, path);
}
