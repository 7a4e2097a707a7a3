/* One block: where it came from and where it went, its realloc chain, what lies beside it. */
import type { Allocation, Allocations, SumsTable } from '../api/generated';
import { useAnswer } from '../api/answer';
import { Bars, barsOf, classEnds, isInClass } from '../charts/bars';
import { Drawer } from '../components/drawer';
import { Shown } from '../components/shown';
import { Stack } from '../components/stack';
import { dataPath, go, linkTo, place } from '../state/state';
import { formatBytes, formatCount, formatExact, formatTime } from '../text/units';
import { addressText, fateOf, lifetime, nanoseconds } from './block_text';
import { toStack } from './site_key';

const AROUND = 32 * 1024;
const STEPS = 12;

/* "64 B › 128 B › … › 16.4 KB": what realloc made of it. */
function chainWords(chain: Allocation[]): string {
	const sizes = chain.map((block) => formatBytes(block.size));
	const shown = sizes.length > STEPS ? [...sizes.slice(0, 4), '…', ...sizes.slice(-3)] : sizes;
	const copied = chain.slice(1).reduce((sum, block, i) => sum + Math.min(chain[i]!.size, block.size), 0);
	return `${shown.join(' › ')} (${formatCount(chain.length - 1)} steps, ${formatBytes(copied)} copied at most)`;
}

function Chain({ block }: { block: Allocation }) {
	const answer = useAnswer<Allocations>(block.chain === null ? null : dataPath('allocations'), {
		chain: block.chain ?? undefined, stacks: 'none', count: 500,
	});
	if (!answer.data || answer.data.total_count < 2) return null;
	return (
		<>
			<h3>Chain of reallocs</h3>
			<p>{chainWords(answer.data.allocations)}</p>
		</>
	);
}

/* What lives around it when it was allocated, as bars in one line of 64 KiB. */
function Neighbours({ block }: { block: Allocation }) {
	const from = Math.max(0, block.address - AROUND);
	const answer = useAnswer<Allocations>(dataPath('allocations'), {
		address_min: from, address_max: block.address + AROUND, alive_at: `${nanoseconds(block.timestamp_relative)}ns`,
		sort_by: 'address', stacks: 'none', count: 2000,
	});
	return (
		<>
			<h3>Neighbours in memory, 64 KiB, when it was allocated</h3>
			<Shown answer={answer} height={24}>
				{({ allocations }) => (
					<svg class="neighbours" viewBox="0 0 408 16" width="100%" height="16" preserveAspectRatio="none" role="img" aria-label={`${allocations.length} blocks live around it`}>
						{allocations.map((other) => (
							<rect
								key={other.number}
								x={((other.address - from) / (2 * AROUND)) * 408}
								width={Math.max(0.6, (other.size / (2 * AROUND)) * 408)}
								height={16}
								class={other.number === block.number ? 'this' : other.deallocation ? '' : 'leaked'}
							/>
						))}
					</svg>
				)}
			</Shown>
		</>
	);
}

/* Where the block stands among those of its site. */
function Among({ block }: { block: Allocation }) {
	const params = { backtraces: block.backtrace_id, sort_by: 'key' };
	const sizes = useAnswer<SumsTable>(dataPath('sums'), { ...params, by: 'size' });
	const lifetimes = useAnswer<SumsTable>(dataPath('sums'), { ...params, by: 'lifetime' });
	const lived = lifetime(block);
	const draw = (data: SumsTable, by: 'size' | 'lifetime', value: number | null) => (
		<Bars
			title={`calls of its site by ${by}`}
			bars={barsOf(data, by, 'calls')}
			ends={classEnds(data, by)}
			count
			marked={(bar) => isInClass(bar, value)}
		/>
	);
	return (
		<div class="drawer-pair">
			<div>
				<h3>Among its site's sizes</h3>
				<Shown answer={sizes} height={80}>
					{(data) => draw(data, 'size', block.size)}
				</Shown>
			</div>
			<div>
				<h3>Among their lifetimes</h3>
				<Shown answer={lifetimes} height={80}>
					{(data) => draw(data, 'lifetime', lived)}
				</Shown>
			</div>
		</div>
	);
}

export function BlockDrawer({ block, thread, onClose }: { block: Allocation; thread: (id: number | null) => string; onClose: () => void }) {
	const freed = block.deallocation;
	return (
		<Drawer label={`block ${block.number}`} title={`Block ${formatExact(block.number)}: ${formatBytes(block.size)}`} onClose={onClose}>
			<p>
				{formatExact(block.size)} B at <code>{addressText(block)}</code>, by {block.entry ?? 'an unknown function'} of {thread(block.thread)}, at{' '}
				{formatTime(nanoseconds(block.timestamp_relative))}. {fateOf(block)}
				{freed ? ` by ${thread(freed.thread)}` : ''}.
			</p>
			<h3>Allocated by</h3>
			<Stack id={block.backtrace_id} label="allocated by" />
			{freed?.backtrace_id !== null && freed?.backtrace_id !== undefined ? (
				<>
					<h3>Freed by</h3>
					<Stack id={freed.backtrace_id} label="freed by" />
				</>
			) : null}
			<Chain block={block} />
			<Neighbours block={block} />
			<Among block={block} />
			<div class="drawer-foot">
				<a href={linkTo(toStack(block.backtrace_id))}>its site</a>
				<button type="button" onClick={() => go({ conditions: { ...place.value.conditions, backtraces: String(block.backtrace_id) }, view: { sel: '' } })}>
					blocks of its site
				</button>
			</div>
		</Drawer>
	);
}
