/* The address space at a moment: which pages are in use, how full they are, and who keeps them. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { Allocation, Allocations, Keeper, Series, Space } from '../api/generated';
import { useAnswer } from '../api/answer';
import { inFile } from '../api/file';
import { isSampled, resample, sampledSteps } from '../charts/strip/strip_data';
import { laneName, SpaceMap, type SpaceColour } from '../charts/space/space_map';
import { entryOf, PAGE, type Chosen } from '../charts/space/layout';
import { Bytes } from '../components/amount';
import { Nothing } from '../components/nothing';
import { Rows, type Field } from '../components/rows';
import { Shown, useSeen } from '../components/shown';
import { SiteName } from '../components/site_name';
import { Switch } from '../components/switch';
import { liveTable } from '../state/limits';
import { dataPath, go, linkTo, place, spaceParams } from '../state/state';
import { exactly } from '../text/names';
import { formatBytes, formatCount, formatExact, formatPercent, formatTime } from '../text/units';
import { addressText, livedText, nanoseconds } from './block_text';
import { toStack } from './site_key';
import { hex, LaneTable } from './space_lanes';
import '../styles/space.css';

const KEPT = 12;
const BLOCKS = 40;

const CELLS = [
	{ value: 'auto', text: 'auto', title: 'the smallest of which there are not too many' },
	{ value: '4K', text: '4 KiB' },
	{ value: '64K', text: '64 KiB' },
	{ value: '2M', text: '2 MiB' },
] as const;
type Cell = (typeof CELLS)[number]['value'];

const COLOURS: { value: SpaceColour; text: string; title: string }[] = [
	{ value: 'fate', text: 'fate', title: 'orange: most of it is never freed' },
	{ value: 'age', text: 'age', title: 'the older, the darker' },
	{ value: 'site', text: 'site', title: 'by the stack that uses most of it' },
];

/** "At 4.50 s 13.9 MB of blocks keep 38.6 MB of pages: 36 % of each is used. 1,707 pages are kept by less than 410 B." */
export function sentence(space: Space): string {
	if (!space.blocks) return `At ${formatTime(space.at_ns)} no block lives here.`;
	const pages = space.pages * PAGE;
	const sparse = space.sparse_pages ? ` ${formatCount(space.sparse_pages)} page${space.sparse_pages === 1 ? ' is' : 's are'} kept by less than ${PAGE / 10 | 0}\u00a0B each.` : '';
	return `At ${formatTime(space.at_ns)} ${formatBytes(space.used)} of blocks keep ${formatBytes(pages)} of pages: ${formatPercent(space.used, pages)} of each is used.${sparse}`;
}

/** What of the process's memory lives then, and what is merely kept; null: there was no sample of it. `live`: bytes of all blocks at that moment. */
export function residentWords(series: Series, at: number, live: number): string | null {
	const { memory } = series;
	if (!memory.at_ns.length) return null;
	const then = (values: number[]) => resample(memory.at_ns, values, [at])[0]!;
	const kept = then(memory.anonymous) - live;
	const known = isSampled(series, at);
	const resident = `${known ? '' : 'About '}${formatBytes(then(memory.resident))} was resident then`;
	const files = `${formatBytes(then(memory.file) + then(memory.shared))} of files and code`;
	// Live memory may be more than is resident: the program asked for it, and did not touch it yet.
	if (!known && (kept < 0 || !sampledSteps(memory, [at], series.end_ns - series.start_ns)[0])) return `How much was resident then is not known: no sample of the process's memory is near.`;
	if (kept < 0) return `${resident}, ${files} included: not all that was live had been touched.`;
	return `${resident}: beside live blocks ${formatBytes(kept)} of free memory, stacks and mappings of its own, and ${files}.`;
}

/* As many points as the page in a file has: fewer would leave out samples of memory. */
const POINTS = 2000;

/* The whole process, whatever the conditions are. What lives is asked of the moment itself: at a peak the curve jumps, and between two of its points it is wrong. */
function Resident({ cell }: { cell: Cell }) {
	const series = useAnswer<Series>(dataPath('series'), { points: POINTS });
	const space = useAnswer<Space>(dataPath('space'), { at: spaceParams.value.at, cell, by: 'function', top: KEPT });
	const words = series.data && space.data ? residentWords(series.data, space.data.at_ns, space.data.used) : null;
	return words ? <p class="resident">{words}</p> : null;
}

const KEEPERS: Field<Keeper>[] = [
	{ head: 'pages', cell: ({ pages }) => formatBytes(pages * PAGE), attributes: ({ pages }) => ({ title: `${formatExact(pages)} pages` }) },
	{
		head: 'kept by', cell: (one) => <Bytes value={one.kept_by_bytes} />,
		attributes: (one) => ({ title: `${formatExact(one.kept_by_blocks)} blocks` }),
	},
	{ head: '× ', cell: ({ pages, kept_by_bytes: bytes }) => (bytes ? `×${Math.round((pages * PAGE) / bytes)}` : '') },
	{
		head: 'blocks of', text: true,
		cell: ({ name, others }) =>
			others ? (
				`${formatCount(others)} others`
			) : (
				<a href={linkTo({ conditions: { ...place.value.conditions, allocated_by: exactly(name ?? '') } })} title="only its blocks">
					<SiteName name={name} />
				</a>
			),
	},
];

/* Whose blocks keep pages that would be empty without them. */
function Kept({ space }: { space: Space }) {
	return (
		<section aria-label="who keeps pages" class="space-kept">
			<h2>Kept for one function alone</h2>
			<Rows label="functions by the pages that they alone keep" class="fit" fields={KEEPERS} rows={space.kept} rowClass={({ others }) => (others ? 'muted' : '')} />
		</section>
	);
}

const BLOCK_FIELDS: Field<Allocation>[] = [
	{
		head: 'address',
		cell: (block) => (
			<a href={linkTo({ page: 'allocations', view: { row: '' }, conditions: { ...place.value.conditions, address_min: String(block.address), address_max: String(block.address) } })}>
				<code>{addressText(block)}</code>
			</a>
		),
	},
	{ head: 'size', cell: ({ size }) => <Bytes value={size} /> },
	{ head: 'since', cell: (block) => formatTime(nanoseconds(block.timestamp_relative)) },
	{ head: 'lives', cell: livedText, attributes: ({ deallocation }) => ({ class: deallocation ? '' : 'never-freed' }) },
	{
		head: 'allocated by', text: true,
		cell: ({ site, backtrace_id: stack }) => (
			<a href={linkTo(toStack(stack))}>
				<SiteName {...(site ?? { name: null })} />
			</a>
		),
	},
];

/* Who keeps this page alive: the blocks with a byte in the cell. */
function Page({ space, chosen }: { space: Space; chosen: Chosen }) {
	const lane = space.lanes[chosen.lane]!;
	const entry = entryOf(lane, chosen.cell);
	const start = lane.start + chosen.cell * space.cell;
	const end = start + space.cell;
	const blocks = entry >= 0 ? lane.cells.blocks[entry]! : 0;
	// Those that begin below its end, from there downwards: so many as lie in it reach into it.
	const answer = useAnswer<Allocations>(blocks ? dataPath('allocations') : null, {
		...spaceParams.value, at: undefined, alive_at: `${space.at_ns}ns`, address_max: String(end - 1), sort_by: 'address', order: 'dsc', count: Math.min(blocks, BLOCKS), stacks: 'sites',
	});
	const name = space.cell === PAGE ? 'Page' : `${formatBytes(space.cell)} from`;
	if (entry < 0)
		return (
			<p>
				{name} <code>{hex(start)}</code>: no block lies in it.
			</p>
		);
	const used = lane.cells.used[entry]!;
	return (
		<section aria-label="who keeps this page alive" class="panel space-page">
			<h2>
				{name} <code>{hex(start)}</code> of {laneName(lane)}: {formatExact(used)} of {formatExact(space.cell)} B, kept by {formatCount(blocks)} block
				{blocks === 1 ? '' : 's'}
			</h2>
			<Shown answer={answer} height={48}>
				{(data) => (
					<Rows
						class="fit"
						fields={BLOCK_FIELDS}
						rows={[...data.allocations].reverse()}
						rest={blocks > BLOCKS ? [`${formatCount(blocks - BLOCKS)} more`, ''] : null}
					/>
				)}
			</Shown>
		</section>
	);
}

/* The lanes as a table: what the picture shows, for those who cannot see it. */
function Lanes({ space }: { space: Space }) {
	return (
		<details class="as-table">
			<summary>Show as table</summary>
			<LaneTable space={space} />
		</details>
	);
}

export function AddressSpace() {
	const { view } = place.value;
	const cell = (CELLS.find(({ value }) => value === view.cell)?.value ?? 'auto') as Cell;
	// All of a live table lives: no cell has another fate.
	const colours = liveTable.value ? COLOURS.filter(({ value }) => value !== 'fate') : COLOURS;
	const colourBy = colours.find(({ value }) => value === view.colour)?.value ?? colours[0]!.value;
	const answer = useAnswer<Space>(dataPath('space'), { ...spaceParams.value, cell, by: 'function', top: KEPT });
	const stacks = useAnswer<Space>(colourBy === 'site' ? dataPath('space') : null, { ...spaceParams.value, cell: '2M', top: 7 });
	useSeen(answer.stale ? null : answer.data);
	return (
		<Shown answer={answer} height={400}>
			{(space) => (
				<>
					<h1>{sentence(space)}</h1>
					<Resident cell={cell} />
					{space.blocks ? null : <Nothing />}
					<div class="view-bar">
						{inFile ? null : <Switch<Cell> label="a cell is" value={cell} choices={[...CELLS]} onChange={(value) => go({ view: { cell: value === 'auto' ? '' : value, sel: '' } })} />}
						<Switch<SpaceColour> label="colour is" value={colourBy} choices={inFile ? colours.filter(({ value }) => value !== 'site') : colours} onChange={(value) => go({ view: { colour: value === colours[0]!.value ? '' : value } })} />
						<span class="muted">
							a cell is {formatBytes(space.cell)}{colourBy === 'fate' ? ': blue, or orange if most of it is never freed; the fuller, the darker' : ''}
						</span>
					</div>
					<Drawn space={space} colourBy={colourBy} sites={stacks.data?.kept.map((one) => one.backtrace_id) ?? NO_SITES} />
					<Lanes space={space} />
				</>
			)}
		</Shown>
	);
}

const NO_SITES: number[] = [];

function Drawn({ space, colourBy, sites }: { space: Space; colourBy: SpaceColour; sites: (number | null)[] }) {
	const [chosen, setChosen] = useState<Chosen | null>(null);
	const known = useMemo(() => sites, [sites.join()]);
	useEffect(() => setChosen(null), [space.cell, space.at_ns]);
	const at = chosen && space.lanes[chosen.lane] ? chosen : null;
	return (
		<>
			{inFile ? null : at ? <Page space={space} chosen={at} /> : <p class="muted">Click a cell: who keeps it alive.</p>}
			<div class="space">
				<SpaceMap space={space} colourBy={colourBy} sites={known} chosen={at} onChoose={setChosen} />
				<Kept space={space} />
			</div>
		</>
	);
}
