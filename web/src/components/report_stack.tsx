/* A stack of a report, innermost frame first; plumbing is grey. */
import { framesOf, type ReportStacks } from '../api/reports';
import { baseName } from './site_name';

export function ReportStack({ report, stack, label }: { report: ReportStacks; stack: number | null; label: string }) {
	const frames = framesOf(report, stack);
	if (!frames.length) return <p class="muted">not recorded</p>;
	return (
		<ol class="stack" aria-label={label}>
			{frames.map((frame, i) => (
				<li key={i} class={frame.plumbing ? 'plumbing' : ''} title={`${frame.function}${frame.file ? ` ${frame.file}:${frame.line ?? 0}` : ''}`}>
					<code>{frame.plumbing ? frame.short : <b>{frame.short}</b>}</code>{' '}
					<span class="muted">{frame.file ? `${baseName(frame.file)}:${frame.line ?? ''}` : baseName(frame.module ?? '')}</span>
				</li>
			))}
		</ol>
	);
}
