/* Single allocations, in any order; a row opens its drawer. */
import { useState } from 'preact/hooks';
import type { Allocation, Allocations as Page, Summary } from '../api/generated';
import { fetchAnswer, useAnswer } from '../api/answer';
import { ApiError, target } from '../api/client';
import { usePages } from '../api/pages';
import { Failure, useSeen } from '../components/shown';
import { Bytes } from '../components/amount';
import { Nothing } from '../components/nothing';
import { SiteName } from '../components/site_name';
import { FLUID, Table, type Column } from '../components/table';
import { say } from '../state/say';
import { liveTable } from '../state/limits';
import { dataPath, duration, go, place, plainConditions, threadWords } from '../state/state';
import { formatBytes, formatCount, formatExact, formatTime } from '../text/units';
import { BlockDrawer } from './block_drawer';
import { addressText, livedText, nanoseconds, parseJump } from './block_text';

const COLUMNS: Column<Allocation>[] = [
	{ name: 'number', head: '#', width: '96px', cell: (block) => formatExact(block.number) },
	{ name: 'at', head: 'at', width: '80px', sort: 'timestamp', cell: (block) => formatTime(nanoseconds(block.timestamp_relative)) },
	{ name: 'address', head: 'address', width: '124px', sort: 'address', cell: (block) => <code>{addressText(block)}</code> },
	{ name: 'size', head: 'size', width: '76px', sort: 'size', cell: (block) => <Bytes value={block.size} /> },
	{ name: 'slack', head: 'slack', width: '64px', sort: 'slack', cell: (block) => <Bytes value={block.extra_space} /> },
	{
		name: 'lived', head: 'lived', width: '80px', sort: 'lifetime',
		cell: (block) => <span class={block.deallocation ? '' : 'never-freed'}>{livedText(block)}</span>,
	},
	{
		name: 'thread', head: 'thread › freed by', width: '232px', text: true,
		cell: ({ thread, deallocation }) => {
			const by = deallocation && deallocation.thread !== thread ? ` › ${threadWords(deallocation.thread)}` : '';
			return threadWords(thread) + by;
		},
	},
	{ name: 'fate', head: 'fate', width: '64px', text: true, cell: (block) => (block.deallocation ? 'freed' : 'alive') },
	{
		name: 'name', head: 'allocated by', width: FLUID, text: true,
		cell: (block) => (block.site ? <SiteName {...block.site} /> : <span class="muted">stack {block.backtrace_id}</span>),
	},
];

/* Of a live table: nothing of it was freed, and what the allocator made of sizes is not in it. */
const LIVE_COLUMNS: Column<Allocation>[] = COLUMNS.filter(({ name }) => name !== 'slack' && name !== 'fate').map((column) => {
	if (column.name === 'thread') return { ...column, head: 'thread' };
	if (column.name !== 'lived') return column;
	return { ...column, head: 'age', cell: (block) => formatTime(Math.max(0, duration.value - nanoseconds(block.timestamp_relative))) };
});

/* "349,167 allocations, 328 MB in all; 13.3 MB of it never freed." */
function sentence(count: number, { matched }: Summary): string {
	const blocks = `${formatCount(count)} ${liveTable.value ? 'block' : 'allocation'}${count === 1 ? '' : 's'}`;
	if (liveTable.value) return `${blocks} live${count === 1 ? 's' : ''} now, ${formatBytes(matched.peak_bytes)}.`;
	return `${blocks}, ${formatBytes(matched.total_bytes)} in all; ${formatBytes(matched.leaked_bytes)} of it never freed.`;
}

/* The row at which a time or an address stands, by counting what comes before it. */
async function rowOf(text: string): Promise<{ row: number; sort: string } | null> {
	const jump = parseJump(text);
	if (!jump) return null;
	if (jump.kind === 'number') return { row: jump.row, sort: 'timestamp' };
	const before = jump.kind === 'time' ? { to: jump.moment } : { address_max: jump.address };
	const page = await fetchAnswer<Page>(target(dataPath('allocations'), { ...plainConditions.value, ...before, count: 1, stacks: 'none' }));
	return { row: Math.max(0, page.total_count - 1), sort: jump.kind === 'time' ? 'timestamp' : 'address' };
}

function JumpTo({ onJump }: { onJump: (row: number) => void }) {
	const [text, setText] = useState('');
	const jump = (event: Event) => {
		event.preventDefault();
		rowOf(text).then(
			(found) => {
				if (!found) return say('a time (1.4 s), an address (0x7f…) or a number');
				if (found.sort !== (place.value.view.sort ?? 'timestamp')) go({ view: { sort: found.sort, order: '' } });
				onJump(found.row);
			},
			(error) => say(error instanceof ApiError ? error.message : String(error)),
		);
	};
	return (
		<form class="view-bar" onSubmit={jump}>
			<label for="jump">jump to</label>
			<input id="jump" value={text} placeholder="time, address, number" onInput={(event) => setText(event.currentTarget.value)} />
			<button type="submit">go</button>
		</form>
	);
}

export function Allocations() {
	const { view } = place.value;
	const [jump, setJump] = useState<number | undefined>(undefined);
	const sort = view.sort ?? 'timestamp';
	const order = (view.order ?? (sort === 'timestamp' || sort === 'address' ? 'asc' : 'dsc')) as 'asc' | 'dsc';
	const pages = usePages<Page>(dataPath('allocations'), {
		...plainConditions.value, sort_by: sort, order: view.order, stacks: 'sites',
	});
	const sums = useAnswer<Summary>(dataPath('summary'), plainConditions.value);
	useSeen(pages.stale ? null : pages.first);
	if (pages.error) return <Failure error={pages.error} retry={pages.retry} />;
	const { first } = pages;
	const rowAt = (index: number): Allocation | null => {
		const found = pages.at(index);
		return found?.page.allocations[found.index] ?? null;
	};
	const setSort = (column: string) =>
		go({ view: { sort: column === 'timestamp' ? '' : column, order: column === sort ? (order === 'asc' ? 'dsc' : 'asc') : '', row: '' } });
	const opened = view.row ? Number(view.row) : -1;
	const block = opened >= 0 ? rowAt(opened) : null;
	return (
		<>
			<h1>{first && sums.data ? sentence(first.total_count, sums.data) : '\u00a0'}</h1>
			<JumpTo onJump={setJump} />
			<div class={`with-drawer${block ? ' open' : ''}`}>
				{first && !first.total_count ? (
					<Nothing />
				) : first ? (
					<Table
						label="allocations"
						columns={liveTable.value ? LIVE_COLUMNS : COLUMNS}
						count={first.total_count}
						row={rowAt}
						onRange={pages.want}
						sort={sort}
						order={order}
						onSort={setSort}
						onOpen={(index) => go({ view: { row: String(index) } }, opened >= 0)}
						opened={opened}
						jump={jump}
						dim={pages.stale}
					/>
				) : (
					<div class="skeleton" style={{ minHeight: '300px' }} aria-busy="true" />
				)}
				{block ? <BlockDrawer key={block.number} block={block} thread={threadWords} onClose={() => go({ view: { row: '' } })} /> : null}
			</div>
		</>
	);
}
