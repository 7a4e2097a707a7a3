/* Sizes and lifetimes: how many bytes, or what the metric counts, are in blocks of which. A drag filters. */
import type { SumsTable } from '../api/generated';
import { useAnswer } from '../api/answer';
import { barsOf, type Bar } from '../charts/bars';
import { classConditions, classesOf, classText, type Class, type ClassBy } from '../charts/classes';
import { HeatMap } from '../charts/heat_map';
import { useSelect } from '../charts/use_select';
import { Nothing } from '../components/nothing';
import { Rows } from '../components/rows';
import { Shown, useSeen } from '../components/shown';
import { chooseRange } from '../state/moments';
import { liveTable } from '../state/limits';
import { measure } from '../state/measure';
import { dataPath, go, place, plainConditions } from '../state/state';
import { formatPercent, formatTime } from '../text/units';
import { metricWords, whenWords } from './moment_words';

const filterBy = (conditions: Record<string, string>) => go({ conditions: { ...place.value.conditions, ...conditions } });

/** "75.0 MB live at 739 ms, the peak: most in blocks of 16.8 MB to 33.6 MB (42 %); half of them lived 64 µs or less." */
export function sentence(sizes: SumsTable, lifetimes: SumsTable | null): string {
	const { column, format } = measure.value;
	const whole = sizes.all[column];
	if (!whole) return 'Nothing matches.';
	const most = barsOf(sizes, 'size', column).reduce((a, b) => (b.value > a.value ? b : a));
	const parts = [`${format(whole)} ${metricWords()}${whenWords()}: most in blocks of ${most.name} (${formatPercent(most.value, whole)})`];
	const half = lifetimes && medianOf(barsOf(lifetimes, 'lifetime', 'calls'));
	if (half) parts.push(half.leaked ? 'more than half of all calls were never freed' : `half of all calls lived ${formatTime(half.largest ?? 0)} or less`);
	return `${parts.join('; ')}.`;
}

/** The class in which half of all is reached. */
export function medianOf(bars: Bar[]): Bar | null {
	const whole = bars.reduce((sum, bar) => sum + bar.value, 0);
	let sum = 0;
	for (const bar of bars) {
		sum += bar.value;
		if (whole && sum * 2 >= whole) return bar;
	}
	return null;
}

/* A histogram as wide as its panel; a drag over bars is a condition. */
function Histogram({ sums, by, title }: { sums: SumsTable; by: 'size' | 'lifetime'; title: string }) {
	const { column, format } = measure.value;
	const bars = barsOf(sums, by, column);
	const classes = classesOf(sums, 0, by);
	const whole = sums.all[column];
	const most = Math.max(1, ...bars.map((bar) => bar.value));
	const { selection, handlers } = useSelect(bars.length, 1, ({ left, right }) => filterBy(classConditions(classes.slice(left, right + 1), by)));
	const freed = classes.filter((one) => !one.leaked);
	return (
		<section aria-label={title}>
			<h2>
				{title} <span class="muted">{format(whole)}</span>
			</h2>
			<div
				class="bars histogram"
				role="img"
				aria-label={`${title}: ${bars.filter((bar) => bar.value).map((bar) => `${bar.name} ${format(bar.value)}`).join(', ')}`}
				{...handlers}
			>
				{bars.map((bar, i) => (
					<span
						key={bar.name}
						class={`histogram-column${selection && i >= selection.left && i <= selection.right ? ' chosen' : ''}`}
						title={`${bar.name}: ${format(bar.value)}, ${formatPercent(bar.value, whole)}`}
					>
						<span class={bar.leaked ? 'leaked' : ''} style={{ height: `${((100 * bar.value) / most).toFixed(1)}%` }} />
					</span>
				))}
			</div>
			<div class="bars-ends" aria-hidden="true">
				<span>{freed.length ? classText(freed[0]!, by) : ''}</span>
				<span>{freed.length ? classText(freed[freed.length - 1]!, by) : ''}{classes.length > freed.length ? ' · never freed' : ''}</span>
			</div>
			<details class="as-table">
				<summary>Show as table</summary>
				<Rows
					fields={[
						{ text: true, cell: ({ name }) => name },
						{ cell: ({ value }) => format(value) },
						{ cell: ({ value }) => formatPercent(value, whole) },
					]}
					rows={bars.filter((bar) => bar.value)}
				/>
			</details>
		</section>
	);
}

const ends = (classes: Class[], by: ClassBy): [string, string] =>
	classes.length ? [classText(classes[0]!, by), classText(classes[classes.length - 1]!, by)] : ['', ''];

/* Sizes upwards, lifetimes or time to the right. */
function Map2({ sums, across, title }: { sums: SumsTable; across: 'lifetime' | 'time'; title: string }) {
	const { column, format } = measure.value;
	const rows = classesOf(sums, 0, 'size');
	const columns = classesOf(sums, 1, across);
	const values = new Map(sums.key.map((key, row) => [`${key} ${sums.second[row]}`, sums[column][row] ?? 0]));
	return (
		<section aria-label={title}>
			<h2>{title}</h2>
			<HeatMap
				label={title}
				columns={columns.map((one) => classText(one, across))}
				rows={rows.map((one) => classText(one, 'size'))}
				value={(x, y) => values.get(`${rows[y]!.key} ${columns[x]!.key}`) ?? 0}
				whole={sums.all[column]}
				format={format}
				ends={ends(columns, across)}
				sides={ends(rows, 'size')}
				onSelect={({ left, right, low, high }) => {
					const sizes = classConditions(rows.slice(low, high + 1), 'size');
					if (across === 'lifetime') return filterBy({ ...sizes, ...classConditions(columns.slice(left, right + 1), 'lifetime') });
					chooseRange(columns[left]!.least ?? 0, columns[right]!.largest ?? 0, 'allocated');
					filterBy(sizes);
				}}
			/>
		</section>
	);
}

export function Distributions() {
	const sums = (by: string) => ({ ...plainConditions.value, by, sort_by: 'key' });
	const sizes = useAnswer<SumsTable>(dataPath('sums'), sums('size'));
	const ended = liveTable.value ? null : dataPath('sums');
	const lifetimes = useAnswer<SumsTable>(ended, sums('lifetime'));
	const sizeLife = useAnswer<SumsTable>(ended, sums('size,lifetime'));
	const sizeTime = useAnswer<SumsTable>(dataPath('sums'), sums('size,time'));
	useSeen(sizes.stale || sizeTime.stale ? null : sizes.data && sizeTime.data);
	return (
		<>
			<h1>{sizes.data && (lifetimes.data || !ended) ? sentence(sizes.data, lifetimes.data) : '\u00a0'}</h1>
			{sizes.data && !sizes.data.rows ? <Nothing /> : null}
			<p class="muted">
				Drag over classes to see only these.
				{ended ? '' : ' A live table has no lifetimes: all of its blocks live.'}
			</p>
			<div class="distributions">
				<Shown answer={sizes} height={220}>{(data) => <Histogram sums={data} by="size" title="Sizes" />}</Shown>
				{ended ? <Shown answer={lifetimes} height={220}>{(data) => <Histogram sums={data} by="lifetime" title="Lifetimes" />}</Shown> : null}
				{ended ? <Shown answer={sizeLife} height={320}>{(data) => <Map2 sums={data} across="lifetime" title="Size by lifetime" />}</Shown> : null}
				<Shown answer={sizeTime} height={320}>{(data) => <Map2 sums={data} across="time" title="Size by when it was allocated" />}</Shown>
			</div>
		</>
	);
}
