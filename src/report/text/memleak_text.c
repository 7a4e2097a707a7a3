#include "report/text/memleak_text.h"

#include <inttypes.h>

#include "report/format.h"

static void put_frame(struct buf *buf, const struct memleak_style *style,
		      const struct memleak_frame *frame)
{
	if (frame->inlined && !style->addresses)
		return;
	buf_text(buf, "\t\t");
	if (style->addresses && frame->inlined)
		buf_text(buf, "        (inlined)\t");
	else if (style->addresses)
		buf_printf(buf, "0x%016" PRIx64 "\t", frame->address);
	if (!frame->function)
		buf_text(buf, "[unknown]");
	else if (frame->inlined)
		buf_text(buf, frame->function);
	else
		buf_printf(buf, "%s+0x%" PRIx64, frame->function, frame->offset);
	if (frame->module)
		buf_printf(buf, " [%s]", frame->module);
	// Without a name the address says at least where to look.
	if (!frame->function && !style->addresses)
		buf_printf(buf, " 0x%" PRIx64, frame->address);
	if (style->addresses && frame->file)
		buf_printf(buf, " %s:%u", frame->file, frame->line);
	buf_char(buf, '\n');
}

static void put_stack(struct buf *buf, const struct memleak_style *style,
		      const struct memleak_view *view, const struct memleak_stack *stack)
{
	buf_printf(buf, "\t%" PRIu64 " bytes in %" PRIu64 " allocations from stack\n", stack->bytes,
		   stack->blocks);
	for (size_t i = 0; i < stack->frame_count; i++)
		put_frame(buf, style, &view->frames[stack->first_frame + i]);
	if (stack->lost)
		buf_text(buf, "\t\tstack information lost\n");
	else if (stack->cut)
		buf_printf(buf, "\t\t[cut: %s]\n", stack->cut);
}

/* The last line: all of it, and how far the stacks can be trusted. */
static void put_sum(struct buf *buf, const struct memleak_view *view)
{
	buf_printf(buf, "\tIn all %s%" PRIu64 " bytes in %s from %s",
		   view->sample_rate > 1 ? "about " : "", view->all_bytes,
		   format_counted(view->all_blocks, "allocation", true).text,
		   format_counted(view->all_stacks, "stack", true).text);
	if (view->all_whole == view->all_stacks)
		buf_text(buf, view->all_stacks ? ", all of them whole" : "");
	else
		buf_printf(buf, ", %s of them whole", format_count(view->all_whole, true).text);
	if (view->young)
		buf_printf(buf, "; %s too young to be shown (-o)",
			   format_counted(view->young, "allocation", true).text);
	buf_text(buf, ".\n");
}

void memleak_text_write(struct buf *buf, const struct memleak_style *style,
			const struct memleak_view *view)
{
	buf_printf(buf, "[%02d:%02d:%02d] Top %zu stacks with outstanding allocations",
		   view->time.tm_hour, view->time.tm_min, view->time.tm_sec, view->stack_count);
	if (view->process)
		buf_printf(buf, " of %s", view->process);
	if (view->sample_rate > 1)
		buf_printf(buf, ", estimated from 1 allocation in %s",
			   format_count(view->sample_rate, true).text);
	buf_text(buf, ":\n");
	for (size_t i = 0; i < view->block_count; i++)
		buf_printf(buf, "\taddr = %" PRIx64 " size = %" PRIu64 "\n",
			   view->blocks[i].address, view->blocks[i].size);
	for (size_t i = view->stack_count; i-- > 0;)
		put_stack(buf, style, view, &view->stacks[i]);
	put_sum(buf, view);
	for (size_t i = 0; i < view->warning_count; i++)
		buf_printf(buf, "\tWARNING: %s\n", view->warnings[i]);
}
