/* What is never freed, by the shape in which it grows. */
import { useMemo, useState } from 'preact/hooks';
import type { Findings, SumsTable, Summary } from '../api/generated';
import { useAnswer } from '../api/answer';
import { Bytes, Count, Share } from '../components/amount';
import { Shown, useSeen } from '../components/shown';
import { SiteName } from '../components/site_name';
import { Spark } from '../charts/spark';
import { dataPath, facts, go, linkTo, plainConditions, summary } from '../state/state';
import { formatBytes, formatCount, formatPercent } from '../text/units';
import { CLASSES, equalGains, leaksOf, leakWords, ofClass, teardownsOf, type Leak } from './leaks_classes';
import { Suppress } from './leaks_suppress';
import '../styles/leaks.css';

const ROWS = 500;
const TABLE_ROWS = 100;
const SHOWN = 6;
const SPARK_POINTS = 48;

/* "16.8 MB in 412 blocks was never freed; 7.16 MB of it grows to the end." freed: what the server says if nothing leaked. Of a recording that is not whole a free may be missing. */
function sentence(sums: Summary, leaks: Leak[], freed: string): string {
	const { leaked_bytes: bytes, leaked_blocks: blocks } = sums.matched;
	const whole = facts.value?.complete;
	if (!bytes) return freed || (whole ? 'Every block that is shown was freed.' : 'Of the blocks that are shown none was left.');
	const growing = leaks.filter(({ shape }) => shape === 'grows').reduce((sum, leak) => sum + leak.bytes, 0);
	const grows = growing ? `; ${growing === bytes ? 'all' : formatBytes(growing)} of it grows to the end` : '';
	return `${formatBytes(bytes)} in ${formatCount(blocks)} block${blocks === 1 ? '' : 's'} was ${whole ? 'never' : 'not'} freed${grows}.`;
}

const siteOf = (name: string | null) => ({ page: 'sites' as const, view: { by: 'function', sel: name ?? '' }, metric: 'leaked' as const });

function LeakRow({ leak }: { leak: Leak }) {
	const { amount, words } = leakWords(leak);
	return (
		<li class="leak">
			<a class="leak-name" href={linkTo(siteOf(leak.name))}>
				<SiteName name={leak.name} file={leak.file} line={leak.line} />
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

/* Everything that is never freed, the most first. */
function AllSites({ sums }: { sums: SumsTable }) {
	const rows = Math.min(TABLE_ROWS, sums.key.filter((_, row) => sums.leaked[row]! > 0).length);
	const shown = sums.leaked.slice(0, rows).reduce((sum, value) => sum + value, 0);
	return (
		<section aria-label="all functions">
			<h2>
				By function <span class="muted">{formatBytes(shown)} of {formatBytes(sums.all.leaked)} shown</span>
			</h2>
			<div class="scroll-x" tabIndex={0} role="region" aria-label="functions with never freed memory">
				<table class="rows">
					<thead>
						<tr>
							<th>never freed</th>
							<th>share</th>
							<th>of its own</th>
							<th>calls</th>
							<th class="text">live over the run</th>
							<th class="text">allocated by</th>
						</tr>
					</thead>
					<tbody>
						{sums.key.slice(0, rows).map((key, row) => {
							const keys = sums.keys[0]!;
							const name = keys.name[key ?? 0] ?? null;
							return (
								<tr key={row} class="link-row" onClick={() => go(siteOf(name))}>
									<td>
										<Bytes value={sums.leaked[row]!} />
									</td>
									<td>
										<Share part={sums.leaked[row]!} whole={sums.all.leaked} />
									</td>
									<td>{formatPercent(sums.leaked[row]!, sums.total[row] ?? 0)}</td>
									<td>
										<Count value={sums.calls[row]!} />
									</td>
									<td>
										<Spark values={sums.curve[row] ?? []} leaked />
									</td>
									<td class="text">
										<a href={linkTo(siteOf(name))} onClick={(event) => event.stopPropagation()}>
											<SiteName name={name} file={keys.file?.[key ?? 0]} line={keys.line?.[key ?? 0]} />
										</a>
									</td>
								</tr>
							);
						})}
					</tbody>
				</table>
			</div>
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
			<div class="scroll-x" tabIndex={0} role="region" aria-label="never freed, by mark">
				<table class="rows">
					<thead>
						<tr>
							<th class="text">from the mark to the next</th>
							<th>never freed</th>
							<th>share</th>
							<th>calls</th>
						</tr>
					</thead>
					<tbody>
						{sums.key.map((key, row) => (
							<tr key={row}>
								<td class="text">{sums.keys[0]!.name[key ?? 0]}</td>
								<td>
									<Bytes value={sums.leaked[row]!} />
								</td>
								<td>
									<Share part={sums.leaked[row]!} whole={sums.all.leaked} />
								</td>
								<td>
									<Count value={sums.calls[row]!} />
								</td>
							</tr>
						))}
					</tbody>
				</table>
			</div>
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
