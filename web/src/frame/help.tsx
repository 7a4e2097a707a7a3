/* Keys and words. */
import { signal } from '@preact/signals';
import { Dialog } from '../components/dialog';
import { keysOff, setKeysOff } from './keys_setting';

const open = signal(false);

export const showHelp = (): void => {
	open.value = true;
};

const KEYS: [string, string][] = [
	['? / Esc', 'this help, search, close the innermost'],
	['g then o f s a l d', 'overview, flame graph, sites, allocations, leaks, compare'],
	['1 … 6', 'bytes, blocks, calls, temporary, slack, never freed'],
	['P E [ ]', 'peak, end, the mark before, the next mark'],
	[', .', 'the moment 1 % back, on; with Shift 0.1 %'],
	['v', 'what a range means: kept, allocated, freed, grew, peak'],
	['Z 0', 'the strip shows the brush; the whole run'],
	['D', 'what is shown becomes the side before of Compare'],
	['arrows, Enter, Backspace', 'move, open, out'],
	['f b o x r +', 'in the flame graph: flames, both directions, only this, without this, recursion, unfold'],
	['n N', 'the next match of the search, the last one'],
	['c C e T', 'copy the stack, as command; export; light or dark'],
];

const WORDS: [string, string][] = [
	['live', 'allocated and not freed yet'],
	['never freed', 'live at the end of the recording'],
	['peak', 'the moment with most bytes live'],
	['temporary', 'freed with no other allocation by the same thread in between'],
	['slack', 'usable bytes that the allocator gave beyond those asked for'],
	['resident, not handed out', "memory the process holds beyond live blocks: the allocator's free memory, stacks, own mappings"],
	['site', 'all allocations with one call stack'],
];

const list = (rows: [string, string][], mono: boolean) => (
	<dl class={mono ? 'help-keys' : 'help-words'}>
		{rows.map(([word, text]) => (
			<div key={word}>
				<dt>{word}</dt>
				<dd>{text}</dd>
			</div>
		))}
	</dl>
);

export function Help() {
	if (!open.value) return null;
	return (
		<Dialog title="Keys and words" onClose={() => (open.value = false)}>
			{list(KEYS, true)}
			<label class="check">
				<input type="checkbox" checked={!keysOff.value} onChange={(event) => setKeysOff(!event.currentTarget.checked)} /> single keys
				do this
			</label>
			{list(WORDS, false)}
		</Dialog>
	);
}
