/* What is never freed, by the shape in which it grows. */
import { useEffect } from 'preact/hooks';
import type { SumsTable, Summary } from '../api/generated';
import { isNeverFreed, type Finding, type Findings } from '../api/findings';
import { useAnswer } from '../api/answer';
import { Bytes, Count, Share } from '../components/amount';
import { Shown } from '../components/shown';
import { baseName, SiteName } from '../components/site_name';
import { Spark } from '../charts/spark';
import { dataPath, go, linkTo, plainConditions, summary } from '../state/state';
import { shortName } from '../text/names';
import { formatBytes, formatCount, formatPercent } from '../text/units';
import { CLASSES, equalGains, leakWords, ofClass } from './leaks_classes';
import { Suppress } from './leaks_suppress';
import '../styles/leaks.css';

const ROWS = 100;
const SPARK_POINTS = 48;

/* "16.8 MB in 412 blocks was never freed; 7.16 MB of it grows to the end." */
function sentence(sums: Summary, findings: Finding[]): string {
	const { leaked_bytes: bytes, leaked_blocks: blocks } = sums.matched;
	if (!bytes) return 'Everything was freed.';
	const growing = findings.filter(({ kind }) => kind === 'never_freed_grows').reduce((sum, finding) => sum + finding.bytes, 0);
	const whole = sums.matched.leaked_bytes === sums.all.leaked_bytes;
	const grows = growing && whole ? `; ${formatBytes(growing)} of it grows to the end` : '';
	return `${formatBytes(bytes)} in ${formatCount(blocks)} block${blocks === 1 ? '' : 's'} was never freed${grows}.`;
}

/* The curve of a finding's function, from the table of functions. */
function curveOf(finding: Finding, sums: SumsTable | null): number[] {
	const row = sums?.key.findIndex((key) => sums.keys[0]!.name[key ?? 0] === finding.function) ?? -1;
	return row >= 0 ? (sums!.curve[row] ?? []) : [];
}

function Leak({ finding, sums }: { finding: Finding; sums: SumsTable | null }) {
	const { amount, words } = leakWords(finding);
	const place = finding.file ? ` ${baseName(finding.file)}${finding.line ? `:${finding.line}` : ''}` : '';
	const link = finding.stack === null ? null : linkTo({ page: 'sites', view: { sel: String(finding.stack) }, metric: 'leaked' });
	return (
		<li class="leak">
			<span class="leak-name">
				{link ? (
					<a href={link}>
						<code>{shortName(finding.function ?? '[unknown]')}</code>
					</a>
				) : (
					<code>{finding.function ?? '[no own code]'}</code>
				)}
				<span class="muted">{place}</span>
			</span>
			<span class="leak-curve">
				<Spark values={curveOf(finding, sums)} leaked width={96} />
			</span>
			<span>
				<b class="never-freed">{amount}</b> {words} <span class="muted">{finding.confidence}</span>
			</span>
		</li>
	);
}

/* Everything that is never freed, whether it is large enough to be judged or not. */
function AllSites({ sums }: { sums: SumsTable }) {
	const rows = sums.key.filter((_, row) => sums.leaked[row]! > 0).length;
	const shown = sums.leaked.reduce((sum, value) => sum + value, 0);
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
							<th>live over the run</th>
							<th class="text">allocated by</th>
						</tr>
					</thead>
					<tbody>
						{sums.key.slice(0, rows).map((key, row) => {
							const keys = sums.keys[0]!;
							const name = keys.name[key ?? 0] ?? null;
							return (
								<tr key={row} class="link-row" onClick={() => go({ page: 'sites', view: { by: 'function', sel: name ?? '' }, metric: 'leaked' })}>
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
										<a href={linkTo({ page: 'sites', view: { by: 'function', sel: name ?? '' }, metric: 'leaked' })} onClick={(event) => event.stopPropagation()}>
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
		...plainConditions.value, by: 'function', sort_by: 'leaked', count: ROWS, spark: SPARK_POINTS,
	});
	const matched = useAnswer<Summary>(dataPath('summary'), plainConditions.value);
	useEffect(() => {
		if (sums.data && !sums.stale) performance.mark('mallow:view');
	}, [sums.data, sums.stale]);
	const narrowed = Object.keys(plainConditions.value).length > 0;
	const list = (findings.data?.findings ?? []).filter(isNeverFreed);
	return (
		<Shown answer={matched} height={400} class="leaks">
			{(whole) => (
				<>
					<h1>{sentence(whole, list)}</h1>
					<Suppress />
					{list.length ? (
						<section aria-label="by shape">
							{narrowed ? <p class="muted">The shapes are those of the whole run, without filter and brush.</p> : null}
							{CLASSES.map((shape) => {
								const rows = ofClass(list, shape);
								return rows.length ? (
									<div key={shape.kind}>
										<h2>{shape.title}</h2>
										<ul class="leak-list">
											{rows.map((finding) => (
												<Leak key={finding.sentence} finding={finding} sums={sums.data} />
											))}
										</ul>
									</div>
								) : null;
							})}
						</section>
					) : null}
					<Generations />
					{whole.matched.leaked_bytes ? <Shown answer={sums}>{(data) => <AllSites sums={data} />}</Shown> : null}
				</>
			)}
		</Shown>
	);
}
