/* What the recording is, and what is in doubt about it. */
import { facts, summary } from '../state/state';
import { formatBytes, formatCount, formatTime } from '../text/units';

/** Doubts about the numbers, each with what can be done. */
export function doubts(): string[] {
	const shown = facts.value;
	if (!shown) return [];
	const lines: string[] = [];
	if (shown.sample_bytes)
		lines.push(`Numbers are estimates: one allocation in ${formatBytes(shown.sample_bytes)} was recorded (--sample).`);
	if (shown.culled_allocations)
		lines.push(`${formatCount(shown.culled_allocations)} blocks that lived less than ${formatTime(shown.cull_s * 1e9)} are only counted (--cull).`);
	if (shown.lost) lines.push(`${formatCount(shown.lost)} events were lost: mallow info says why.`);
	if (shown.damaged_chunks || shown.missing_chunks)
		lines.push(`${shown.damaged_chunks + shown.missing_chunks} pieces of the file are damaged or missing: what was in them is not counted.`);
	if (shown.writing) lines.push('The program still runs: numbers are those of when the page was loaded.');
	else if (!shown.ended) lines.push('The program was killed, or the recording was cut short; all that was complete is here.');
	return lines;
}

export function Doubts() {
	const lines = doubts();
	if (!lines.length) return null;
	return (
		<ul class="doubts" aria-label="doubts">
			{lines.map((line) => (
				<li key={line}>{line}</li>
			))}
		</ul>
	);
}

export function RunFacts() {
	const shown = facts.value;
	const all = summary.value;
	if (!shown || !all) return null;
	const end = shown.end_reason ? `${shown.end_reason}${shown.end_status !== null ? `, status ${shown.end_status}` : ''}` : 'not known';
	const rows: [string, string][] = [
		['command', shown.arguments.join(' ')],
		['program', `${shown.program}, pid ${shown.pid}`],
		['ran', `${formatTime(shown.duration_s * 1e9)}; end: ${end}`],
		['allocated', `${formatBytes(all.all.total_bytes)} in ${formatCount(all.all.calls)} calls, ${formatCount(all.all.temporary)} temporary`],
		['never freed', `${formatBytes(all.all.leaked_bytes)} in ${formatCount(all.all.leaked_blocks)} blocks`],
		['threads', formatCount(all.threads.length)],
		['modules', formatCount(all.modules.length)],
		['allocator', shown.allocator ?? 'not known'],
		['recording', `${shown.path}, ${shown.id}`],
	];
	return (
		<>
			<Doubts />
			<details class="run-facts">
				<summary>About this recording</summary>
				<dl>
					{rows.map(([name, value]) => (
						<div key={name}>
							<dt>{name}</dt>
							<dd>{value}</dd>
						</div>
					))}
				</dl>
			</details>
		</>
	);
}
