/* Below the graph: more of the function that is chosen, in all its places. */
import type { Series, SumsTable } from '../api/generated';
import type { Params } from '../api/client';
import { useAnswer } from '../api/answer';
import { Share } from '../components/amount';
import { Rows, type Field } from '../components/rows';
import { Shown } from '../components/shown';
import { SiteName } from '../components/site_name';
import { Bars, barsOf, classEnds } from '../charts/bars';
import { Spark } from '../charts/spark';
import { conditions, dataPath, isDifference, linkTo, plainConditions, standingConditions, summary } from '../state/state';
import { liveTable } from '../state/limits';
import { measure } from '../state/measure';
import { exactly } from '../text/names';
import { formatCount, formatExact } from '../text/units';
import { keyOf, toStack } from './site_key';

const POINTS = 120;
const SITES = 5;

export interface Chosen {
	/** What the panels are about, in words. */
	words: string;
	/** The condition that chooses it; {}: all. */
	conditions: Params;
}

/** The condition for all places of a frame: by its function, or with others merged by its file or module. */
export function conditionsOf(name: string, merge: string): Params {
	const first = name.split(' > ')[0]!.replace(/ \[[^\]]*\]$/, '');
	if (name === 'all' || name.startsWith('[')) return {};
	if (merge === 'modules') return { module_regex: exactly(first).replace('^', '(^|/)') };
	if (merge === 'files') return { source_regex: exactly(first).replace('^', '(^|/)') };
	if (merge === 'lines') return {};
	return onlyOf(name.split(' > ')[0]!);
}

/* A label's function and, behind it in brackets, its module, if that is not the program. */
const partsOf = (label: string): [string, string | undefined] => {
	const [, name, module] = /^(.+?)(?: \[([^\].][^\]]*)\])?$/s.exec(label) ?? [];
	return [name ?? label, module];
};

/** The conditions for stacks that have a function. One frame has all of them, so the module tells functions of one name apart. */
export function onlyOf(label: string): Record<string, string> {
	const [name, module] = partsOf(label);
	return { function_regex: exactly(name), ...(module ? { module_regex: `(^|/)${exactly(module).slice(1)}` } : {}) };
}

/** The condition for stacks that have no function of that name. */
export const withoutOf = (label: string): Record<string, string> => ({ negative_function_regex: exactly(partsOf(label)[0]) });

/* The moment of the peak, when the graph is of that: a part of it has the bytes of then, not those of its own peak. */
function atPeak(column: string, chosen: Chosen): Params {
	const at = summary.value?.peak.at_ns;
	const part = Object.keys(chosen.conditions).length && !Object.keys(conditions.value).length && !liveTable.value;
	return part && at && (column === 'bytes' || column === 'blocks') ? { alive_at: `${at}ns` } : {};
}

function siteFields(sums: SumsTable): Field<number>[] {
	const { column, format } = measure.value;
	return [
		{ cell: (row) => format(sums[column][row]!), attributes: (row) => ({ title: formatExact(sums[column][row]!) }) },
		{
			text: true, class: 'site-cell',
			cell: (row) => {
				const { stack, ...key } = keyOf(sums, row);
				return (
					<a href={linkTo(toStack(stack))}>
						<SiteName {...key} call={null} />
					</a>
				);
			},
		},
	];
}

export function FlamePane({ chosen }: { chosen: Chosen }) {
	const params = { ...plainConditions.value, ...chosen.conditions };
	const series = useAnswer<Series>(dataPath('series'), { ...standingConditions.value, ...chosen.conditions, points: POINTS });
	const sizes = useAnswer<SumsTable>(dataPath('sums'), { ...params, by: 'size', sort_by: 'key' });
	const lifetimes = useAnswer<SumsTable>(liveTable.value ? null : dataPath('sums'), { ...params, by: 'lifetime', sort_by: 'key' });
	const { column, format } = measure.value;
	const sites = useAnswer<SumsTable>(dataPath('sums'), { ...params, ...atPeak(column, chosen), sort_by: column, count: SITES });
	return (
		<div class="flame-pane" aria-label={`more of ${chosen.words}`} role="group">
			<section aria-label="live bytes over the run">
				<h2>Live bytes over the run</h2>
				<Shown answer={series} height={110}>
					{(data) => <Spark values={data.live_last} width={320} height={96} label={`live bytes of ${chosen.words} over the run`} />}
				</Shown>
			</section>
			<section aria-label="sizes">
				<h2>Sizes</h2>
				<Shown answer={sizes} height={110}>
					{(data) => <Bars title="calls by size" bars={barsOf(data, 'size', 'calls')} ends={classEnds(data, 'size')} count />}
				</Shown>
			</section>
			{liveTable.value ? null : (
				<section aria-label="lifetimes">
					<h2>Lifetimes</h2>
					<Shown answer={lifetimes} height={110}>
						{(data) => <Bars title="calls by lifetime" bars={barsOf(data, 'lifetime', 'calls')} ends={classEnds(data, 'lifetime')} count />}
					</Shown>
				</section>
			)}
			<section aria-label="sites">
				<h2>
					{isDifference.value ? 'Sites, after' : 'Sites'}{' '}
					{sites.data ? (
						<span class="muted" title={formatExact(sites.data.all[column])}>
							{sites.data.rows > SITES ? `${SITES} of ${formatCount(sites.data.rows)}, ` : ''}of {format(sites.data.all[column])}
						</span>
					) : null}
				</h2>
				<Shown answer={sites} height={110}>
					{(data) => (
						<Rows fields={siteFields(data)} rows={data.key.map((_, row) => row)} />
					)}
				</Shown>
			</section>
		</div>
	);
}

/** How much of the whole a search finds, also what is not drawn. */
export function FoundLine(props: { find: string; at: number | null; names: number; whole: number; column: 'bytes' | 'blocks' | 'total' | 'calls' | 'temporary' | 'slack' | 'leaked'; format: (value: number) => string }) {
	// Of what lives at the peak only that moment counts, not the peak of the matching blocks.
	const moment = (props.column === 'bytes' || props.column === 'blocks') && props.at !== null && !plainConditions.value.alive_at;
	const pattern = `(?i)${props.find.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}`;
	const conditions = plainConditions.value.function_regex ? { allocated_by: pattern } : { function_regex: pattern };
	const answer = useAnswer<SumsTable>(dataPath('sums'), {
		...plainConditions.value,
		...conditions,
		...(moment ? { alive_at: `${props.at}ns` } : {}),
		by: 'module',
		count: 0,
	});
	if (answer.error) return <span class="failure-line">{answer.error.message}</span>;
	if (!answer.data) return null;
	const value = answer.data.all[props.column];
	return (
		<span class={answer.stale ? 'dim' : ''} aria-live="polite">
			<b>{props.format(value)}</b>, <Share part={value} whole={props.whole} /> in stacks with “{props.find}”, {props.names} functions drawn (n, N)
		</span>
	);
}
