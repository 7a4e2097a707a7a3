#include "report/text/memleak_text.h"

#include <inttypes.h>
#include <string.h>

#include "hosted/file_name.h"

/* Names are bytes of the process. */
static void put_name(struct buf *buf, const char *before, const char *name, const char *after)
{
	buf_text(buf, before);
	buf_shown(buf, name, strlen(name));
	buf_text(buf, after);
}

static void put_frame(struct buf *buf, const struct memleak_style *style,
		      const struct memleak_frame *frame)
{
	buf_text(buf, "\t\t");
	if (style->addresses && frame->inlined)
		buf_text(buf, "        (inlined)\t");
	else if (style->addresses)
		buf_printf(buf, "0x%016" PRIx64 "\t", frame->address);
	if (!frame->function)
		buf_text(buf, "[unknown]");
	else
		put_name(buf, "", frame->function, "");
	if (frame->function && !frame->inlined)
		buf_printf(buf, "+0x%" PRIx64, frame->offset);
	else if (frame->inlined && !style->addresses)
		buf_text(buf, " (inlined)");
	if (frame->module)
		put_name(buf, " [", frame->module, "]");
	// Without a name the address says at least where to look.
	if (!frame->function && !style->addresses)
		buf_printf(buf, " 0x%" PRIx64, frame->address);
	if (frame->file) {
		put_name(buf, " ", style->addresses ? frame->file : file_name(frame->file), "");
		buf_printf(buf, ":%u", frame->line);
	}
	buf_char(buf, '\n');
}

static void put_stack(struct buf *buf, const struct memleak_style *style,
		      const struct memleak_view *view, const struct memleak_stack *stack)
{
	buf_printf(buf, "\t%" PRIu64 " bytes in %" PRIu64 " allocations from stack\n", stack->bytes,
		   stack->blocks);
	for (size_t i = 0; i < stack->frame_count; i++)
		put_frame(buf, style, &view->frames[stack->first_frame + i]);
	if (stack->lost && !view->no_stacks)
		buf_text(buf, "\t\tstack information lost\n");
	else if (stack->cut)
		buf_printf(buf, "\t\t[cut: %s]\n", stack->cut);
	if (style->addresses && stack->cache)
		put_name(buf, "\t\t[cache: ", stack->cache, "]\n");
	if (stack->doubt)
		buf_printf(buf, "\t\t[%s]\n", stack->doubt);
}

/* The last lines: all of it, how far the stacks can be trusted, and what is not shown. */
static void put_sum(struct buf *buf, const struct memleak_view *view)
{
	buf_printf(buf,
		   "\tIn all %s%" PRIu64 " bytes in %" PRIu64 " allocations from %" PRIu64 " %s",
		   view->sample_rate > 1 ? "about " : "", view->all_bytes, view->all_blocks,
		   view->all_stacks, view->all_stacks == 1 ? "stack" : "stacks");
	if (view->all_stacks && !view->no_stacks) {
		if (view->all_whole == view->all_stacks)
			buf_text(buf, ", all of them whole");
		else
			buf_printf(buf, ", %" PRIu64 " of them whole", view->all_whole);
	}
	buf_text(buf, ".\n");
	if (view->young)
		buf_printf(buf,
			   "\tNot shown: %" PRIu64 " allocations younger than %" PRIu64
			   " ms (-o).\n",
			   view->young, view->older_ms);
	if (view->gone)
		buf_printf(buf,
			   "\tNot shown: %" PRIu64
			   " allocations that are freed by now, though their free was "
			   "not seen.\n",
			   view->gone);
}

void memleak_text_write(struct buf *buf, const struct memleak_style *style,
			const struct memleak_view *view)
{
	buf_printf(buf, "[%02d:%02d:%02d] Top %zu stacks with outstanding allocations",
		   view->time.tm_hour, view->time.tm_min, view->time.tm_sec, view->stack_count);
	if (view->process)
		put_name(buf, " of ", view->process, "");
	if (view->sample_rate > 1)
		buf_printf(buf, ", estimated from 1 allocation in %" PRIu64, view->sample_rate);
	buf_text(buf, ":\n");
	for (size_t i = 0; i < view->block_count; i++)
		buf_printf(buf, "\taddr = %" PRIx64 " size = %" PRIu64 "\n",
			   view->blocks[i].address, view->blocks[i].size);
	for (size_t i = view->stack_count; i-- > 0;)
		put_stack(buf, style, view, &view->stacks[i]);
	put_sum(buf, view);
	if (view->page_count)
		buf_text(buf, "\tBesides, in pages:\n");
	for (size_t i = 0; i < view->page_count; i++)
		buf_printf(buf, "\t\t%" PRIu64 " bytes in %" PRIu64 " %s: %s\n",
			   view->pages[i].bytes, view->pages[i].pages,
			   view->pages[i].pages == 1 ? "page" : "pages", view->pages[i].text);
	for (size_t i = 0; i < view->warning_count; i++)
		put_name(buf, "\tWARNING: ", view->warnings[i], "\n");
}
