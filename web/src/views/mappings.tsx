/* The mappings that the program made itself: when each was there, where, and who made it. */
import type { Map as Mapping, Maps, Space } from '../api/generated';
import { useAnswer } from '../api/answer';
import { usePages } from '../api/pages';
import { PAGE } from '../charts/space/layout';
import { Bytes } from '../components/amount';
import { Failure, Shown, useSeen } from '../components/shown';
import { SiteName } from '../components/site_name';
import { FLUID, Table, type Column } from '../components/table';
import { dataPath, duration, go, linkTo, place, spaceParams } from '../state/state';
import { formatBytes, formatCount, formatTime } from '../text/units';
import { addressText, nanoseconds } from './block_text';
import { LaneTable } from './space_lanes';
import '../styles/mappings.css';

/* So many have a row in the picture, the largest; the table has all. */
const DRAWN = 400;
const ROW = 6;
const WIDTH = 1000;

const begun = (map: Mapping): number => nanoseconds(map.timestamp_relative);
const ended = (map: Mapping): number | null => (map.deallocation ? nanoseconds(map.deallocation.source.timestamp_relative) : null);

const access = (map: Mapping): string =>
	`${map.is_readable ? 'r' : '-'}${map.is_writable ? 'w' : '-'}${map.is_executable ? 'x' : '-'}${map.is_shared ? 's' : 'p'}`;

/** What was mapped at most, and when. */
export function mostMapped(maps: Mapping[]): { bytes: number; at: number } {
	const steps = maps.flatMap((map) => {
		const end = ended(map);
		return [{ at: begun(map), bytes: map.size }, ...(end === null ? [] : [{ at: end, bytes: -map.size }])];
	});
	// What goes at the moment in which something comes has gone before: a mapping over another.
	steps.sort((a, b) => a.at - b.at || a.bytes - b.bytes);
	let now = 0;
	let most = { bytes: 0, at: 0 };
	for (const { at, bytes } of steps) {
		now += bytes;
		if (now > most.bytes) most = { bytes: now, at };
	}
	return most;
}

/** "4 mappings of the program's own: 16.8 MB at most, at 1.20 s; none is left at the end." */
export function sentence({ maps, total_count: count }: Maps): string {
	if (!count) return "The program mapped no memory by itself: all of it is its allocator's.";
	const kept = maps.filter((map) => !map.deallocation);
	const most = mostMapped(maps);
	const all = count > maps.length ? ` (the ${formatCount(maps.length)} largest)` : '';
	return `${formatCount(count)} mapping${count === 1 ? '' : 's'} of the program's own${all}: ${formatBytes(most.bytes)} at most, at ${formatTime(most.at)}; ${kept.length ? `${formatCount(kept.length)} with ${formatBytes(kept.reduce((sum, { left }) => sum + left, 0))} still there at the end` : 'none is left at the end'}.`;
}

/* A line for each, in the order of addresses, from where it was made to where it went. */
function Gantt({ maps }: { maps: Mapping[] }) {
	const rows = [...maps].sort((a, b) => a.address - b.address || begun(a) - begun(b));
	const x = (ns: number) => (duration.value ? (ns / duration.value) * WIDTH : 0);
	return (
		<svg
			class="gantt"
			viewBox={`0 0 ${WIDTH} ${Math.max(ROW, rows.length * ROW)}`}
			preserveAspectRatio="none"
			style={{ height: `${Math.min(360, Math.max(24, rows.length * ROW))}px` }}
			role="img"
			aria-label={`${rows.length} mappings over the run, in the order of their addresses`}
		>
			{rows.map((map, i) => {
				const from = x(begun(map));
				const to = x(ended(map) ?? duration.value);
				return (
					<rect key={map.id} class={map.deallocation ? '' : 'kept'} x={from} y={i * ROW + 1} width={Math.max(1, to - from)} height={ROW - 2}>
						<title>{`${addressText(map)} ${formatBytes(map.size)}`}</title>
					</rect>
				);
			})}
		</svg>
	);
}

const COLUMNS: Column<Mapping>[] = [
	{ name: 'at', head: 'made at', width: '88px', sort: 'timestamp', cell: (map) => formatTime(begun(map)) },
	{
		name: 'end', head: 'lived', width: '104px',
		cell: (map) => {
			const end = ended(map);
			return end === null ? <span class="never-freed">to the end</span> : formatTime(end - begun(map));
		},
	},
	{ name: 'address', head: 'address', width: '132px', sort: 'address', cell: (map) => <code>{addressText(map)}</code> },
	{ name: 'size', head: 'size', width: '88px', sort: 'size', cell: (map) => <Bytes value={map.size} /> },
	{ name: 'left', head: 'left', width: '88px', title: 'bytes of it that are there at the end', cell: (map) => (map.left ? <Bytes value={map.left} /> : '') },
	{ name: 'access', head: 'access', width: '64px', text: true, title: 'read, write, execute; private or shared', cell: (map) => <code>{access(map)}</code> },
	{ name: 'name', head: 'of', width: '88px', text: true, cell: (map) => map.name || <span class="muted">memory</span> },
	{
		name: 'by', head: 'mapped by', width: FLUID, text: true,
		cell: ({ source: { site } }) => <SiteName name={site?.name ?? null} file={site?.file} line={site?.line} call={site?.call} />,
	},
	{
		name: 'gone', head: 'unmapped by', width: FLUID, text: true,
		cell: ({ deallocation }) => {
			const site = deallocation?.source.site;
			return deallocation ? <SiteName name={site?.name ?? null} file={site?.file} line={site?.line} call={site?.call} /> : '';
		},
	},
];

/*
 * What the allocator maps it does by itself, and no call of it is recorded; but its blocks say where its heaps
 * are, at the moment that is chosen.
 */
function Allocators() {
	const answer = useAnswer<Space>(dataPath('space'), { ...spaceParams.value, start: 0, end: 1, cell: '2M', top: 0 });
	return (
		<section aria-label="the allocator's own">
			<h2>The allocator's own</h2>
			<Shown answer={answer} height={120}>
				{(space) => (
					<>
						<p class="muted">
							{space.lanes.length
								? `At ${formatTime(space.at_ns)} blocks lie in ${formatCount(space.lanes.length)} heap${space.lanes.length === 1 ? '' : 's'} of the allocator, in ${formatBytes(space.pages * PAGE)} of pages. `
								: `At ${formatTime(space.at_ns)} no block lives. `}
							<a href={linkTo({ page: 'space' })}>Page by page</a>
						</p>
						{space.lanes.length ? (
							<div class="scroll-x" tabIndex={0} role="region" aria-label="heaps of the allocator">
								<LaneTable space={space} />
							</div>
						) : null}
					</>
				)}
			</Shown>
		</section>
	);
}

export function Mappings() {
	const { view } = place.value;
	const sort = view.sort ?? 'timestamp';
	const order = (view.order ?? (sort === 'size' ? 'dsc' : 'asc')) as 'asc' | 'dsc';
	const drawn = useAnswer<Maps>(dataPath('maps'), { sort_by: 'size', order: 'dsc', count: DRAWN, stacks: 'none' });
	const pages = usePages<Maps>(dataPath('maps'), { sort_by: sort, order: view.order, stacks: 'sites' });
	const ready = !!drawn.data && !!pages.first && !pages.stale;
	useSeen(ready);
	if (pages.error) return <Failure error={pages.error} retry={pages.retry} />;
	const setSort = (column: string) => go({ view: { sort: column === 'timestamp' ? '' : column, order: column === sort ? (order === 'asc' ? 'dsc' : 'asc') : '' } });
	return (
		<Shown answer={drawn} height={300}>
			{(data) => (
				<>
					<h1>{sentence(data)}</h1>
					{data.maps.length ? <h2>The program's own</h2> : null}
					{data.maps.length ? <Gantt maps={data.maps} /> : null}
					{data.total_count > data.maps.length ? (
						<p class="muted">
							{formatCount(data.maps.length)} of {formatCount(data.total_count)} drawn, the largest.
						</p>
					) : null}
					{pages.first?.total_count ? (
						<Table
							label="mappings"
							columns={COLUMNS}
							count={pages.first.total_count}
							row={(index) => {
								const found = pages.at(index);
								return found?.page.maps[found.index] ?? null;
							}}
							onRange={pages.want}
							sort={sort}
							order={order}
							onSort={setSort}
							dim={pages.stale}
						/>
					) : null}
					<Allocators />
				</>
			)}
		</Shown>
	);
}
