/* What is never freed, by the shape in which it grows. */
import { useMemo, useState } from 'preact/hooks';
import type { Findings, SumsTable, Summary } from '../api/generated';
import { useAnswer } from '../api/answer';
import { Bytes, Count, Share } from '../components/amount';
import { Rows, type Field } from '../components/rows';
import { Shown, useSeen } from '../components/shown';
import { SiteName } from '../components/site_name';
import { Spark } from '../charts/spark';
import { dataPath, facts, linkTo, plainConditions, summary } from '../state/state';
import { formatBytes, formatCount, formatPercent } from '../text/units';
import { CLASSES, equalGains, leaksOf, leakWords, ofClass, teardownsOf, type Leak } from './leaks_classes';
import { Suppress } from './leaks_suppress';
import { keyOf, toFunction } from './site_key';
import '../styles/leaks.css';

const ROWS = 500;
const TABLE_ROWS = 100;
const SHOWN = 6;
const SPARK_POINTS = 48;

/** "16.8 MB in 412 blocks was never freed; 7.16 MB of it grows to the end." freed: what the server says if nothing leaked. Of a recording that is not whole a free may be missing. */
export function sentence(sums: Summary, leaks: Leak[], freed: string): string {
	const { leaked_bytes: bytes, leaked_blocks: blocks } = sums.matched;
	const whole = facts.value?.complete;
	if (!bytes) return freed || (whole ? 'Every block that is shown was freed.' : 'Of the blocks that are shown none was left.');
	const growing = leaks.filter(({ shape }) => shape === 'grows').reduce((sum, leak) => sum + leak.bytes, 0);
	const grows = growing ? `; ${growing === bytes ? 'all' : formatBytes(growing)} of it grows to the end` : '';
	return `${formatBytes(bytes)} in ${formatCount(blocks)} block${blocks === 1 ? '' : 's'} was ${whole ? 'never' : 'not'} freed${grows}.`;
}

function LeakRow({ leak }: { leak: Leak }) {
	const { amount, words } = leakWords(leak);
	return (
		<li class="leak">
			<a class="leak-name" href={linkTo(toFunction(leak.name, 'leaked'))}>
				<SiteName {...leak} />
			</a>
			<span class="leak-curve">
				<Spark values={leak.curve} leaked width={96} />
			</span>
			<span>
				<b class="never-freed">{amount}</b> {words} <span class="muted">{leak.trust}</span>
			</span>
		</li>
	);
}

/* The leaks of one shape: the largest, and what the others come to. */
function Shape({ title, leaks }: { title: string; leaks: Leak[] }) {
	const [all, setAll] = useState(false);
	const shown = all ? leaks : leaks.slice(0, SHOWN);
	const rest = leaks.slice(shown.length);
	return (
		<div>
			<h2>
				{title} <span class="muted">{formatBytes(leaks.reduce((sum, { bytes }) => sum + bytes, 0))}</span>
			</h2>
			<ul class="leak-list">
				{shown.map((leak) => (
					<LeakRow key={`${leak.name} ${leak.file}`} leak={leak} />
				))}
			</ul>
			{rest.length ? (
				<button type="button" class="plain" onClick={() => setAll(true)}>
					{formatCount(rest.length)} more, {formatBytes(rest.reduce((sum, { bytes }) => sum + bytes, 0))}
				</button>
			) : null}
		</div>
	);
}

const leakedFields = (sums: SumsTable): Field<number>[] => [
	{ head: 'never freed', cell: (row) => <Bytes value={sums.leaked[row]!} /> },
	{ head: 'share', cell: (row) => <Share part={sums.leaked[row]!} whole={sums.all.leaked} /> },
];

const callsField = (sums: SumsTable): Field<number> => ({ head: 'calls', cell: (row) => <Count value={sums.calls[row]!} /> });

const siteFields = (sums: SumsTable): Field<number>[] => [
	...leakedFields(sums),
	{ head: 'of its own', cell: (row) => formatPercent(sums.leaked[row]!, sums.total[row] ?? 0) },
	callsField(sums),
	{ head: 'live over the run', text: 'head', cell: (row) => <Spark values={sums.curve[row] ?? []} leaked /> },
	{
		head: 'allocated by', text: true,
		cell: (row) => (
			<a href={linkTo(toFunction(keyOf(sums, row).name, 'leaked'))}>
				<SiteName {...keyOf(sums, row)} />
			</a>
		),
	},
];

/* Everything that is never freed, the most first. */
function AllSites({ sums }: { sums: SumsTable }) {
	const rows = Math.min(TABLE_ROWS, sums.key.filter((_, row) => sums.leaked[row]! > 0).length);
	const shown = sums.leaked.slice(0, rows).reduce((sum, value) => sum + value, 0);
	return (
		<section aria-label="all functions">
			<h2>
				By function <span class="muted">{formatBytes(shown)} of {formatBytes(sums.all.leaked)} shown</span>
			</h2>
			<Rows
				label="functions with never freed memory"
				fields={siteFields(sums)}
				rows={sums.key.slice(0, rows).map((_, row) => row)}
				to={(row) => toFunction(keyOf(sums, row).name, 'leaked')}
			/>
		</section>
	);
}

/* What was allocated between two marks and is never freed. */
function Generations() {
	const marks = summary.value?.marks.length ?? 0;
	const answer = useAnswer<SumsTable>(marks ? dataPath('sums') : null, { ...plainConditions.value, by: 'mark', sort_by: 'key' });
	const sums = answer.data;
	if (!marks || !sums || !sums.all.leaked) return null;
	const equal = equalGains(sums.leaked);
	return (
		<section aria-label="generations">
			<h2>
				Between marks{' '}
				{equal ? (
					<span class="muted">
						each of {equal.rounds} rounds keeps {formatBytes(equal.bytes)}
					</span>
				) : null}
			</h2>
			<Rows
				label="never freed, by mark"
				fields={[{ head: 'from the mark to the next', text: true, cell: (row) => keyOf(sums, row).name }, ...leakedFields(sums), callsField(sums)]}
				rows={sums.key.map((_, row) => row)}
			/>
		</section>
	);
}

export function Leaks() {
	const findings = useAnswer<Findings>(dataPath('findings'));
	const sums = useAnswer<SumsTable>(dataPath('sums'), {
		...plainConditions.value, by: 'function', sort_by: 'leaked', count: ROWS, spark: SPARK_POINTS, shapes: 'true',
	});
	const matched = useAnswer<Summary>(dataPath('summary'), plainConditions.value);
	useSeen(sums.stale ? null : sums.data);
	const narrowed = Object.keys(plainConditions.value).length > 0;
	const leaks = useMemo(
		() => [...(sums.data ? leaksOf(sums.data) : []), ...(findings.data && !narrowed ? teardownsOf(findings.data.findings) : [])],
		[sums.data, findings.data, narrowed],
	);
	return (
		<Shown answer={matched} height={400} class="leaks">
			{(whole) => (
				<>
					<h1>{sentence(whole, leaks, narrowed ? '' : (findings.data?.headline.freed ?? ''))}</h1>
					<Suppress />
					<section aria-label="by shape">
						{CLASSES.map((one) => {
							const rows = ofClass(leaks, one);
							return rows.length ? <Shape key={one.shape} title={one.title} leaks={rows} /> : null;
						})}
					</section>
					<Generations />
					{whole.matched.leaked_bytes ? <Shown answer={sums}>{(data) => <AllSites sums={data} />}</Shown> : null}
				</>
			)}
		</Shown>
	);
}
