/* What is known and meant so: lines in LeakSanitizer's language, kept by the browser for the program. */
import { useState } from 'preact/hooks';
import type { Summary } from '../api/generated';
import { useAnswer } from '../api/answer';
import { dataPath, facts, go, place } from '../state/state';
import { store, stored } from '../state/stored';
import { baseName } from '../components/site_name';
import { formatBytes, formatCount } from '../text/units';

const kept = () => `suppress.${baseName(facts.value?.program ?? '')}`;

function setSuppress(lines: string): void {
	const { suppress: _, ...rest } = place.value.conditions;
	go({ conditions: lines ? { ...rest, suppress: lines } : rest });
}

/* Saves the lines as a file that `mallow report --suppressions` and LeakSanitizer read. */
function save(lines: string): void {
	const link = document.createElement('a');
	link.href = URL.createObjectURL(new Blob([`${lines}\n`], { type: 'text/plain' }));
	link.download = `${baseName(facts.value?.program ?? 'mallow')}.suppressions`;
	link.click();
	setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/* What the lines take away, also before they are used. */
function Effect({ lines }: { lines: string }) {
	const answer = useAnswer<Summary>(lines.trim() ? dataPath('summary') : null, { suppress: lines });
	if (!lines.trim()) return null;
	if (answer.error) return <p class="failure-line">{answer.error.message}</p>;
	if (!answer.data) return <p class="muted">…</p>;
	const { all, matched } = answer.data;
	return (
		<p aria-live="polite">
			<b>{formatBytes(all.leaked_bytes - matched.leaked_bytes)}</b> in {formatCount(all.leaked_blocks - matched.leaked_blocks)} blocks
			suppressed, of {formatBytes(all.leaked_bytes)} never freed.
		</p>
	);
}

export function Suppress() {
	const used = place.value.conditions.suppress ?? '';
	const [open, setOpen] = useState(used !== '');
	const [lines, setLines] = useState(used || stored(kept()));
	const apply = (event: Event) => {
		event.preventDefault();
		store(kept(), lines.trim());
		setSuppress(lines.trim());
	};
	if (!open)
		return (
			<button type="button" onClick={() => setOpen(true)}>
				Suppress…{lines ? ` (${lines.trim().split('\n').length} lines kept here)` : ''}
			</button>
		);
	return (
		<form class="panel suppress" onSubmit={apply}>
			<label for="suppress">Known, and meant so: a line leak:PATTERN each, as LeakSanitizer reads them</label>
			<textarea
				id="suppress"
				rows={3}
				spellcheck={false}
				placeholder="leak:register_label"
				value={lines}
				onInput={(event) => setLines(event.currentTarget.value)}
			/>
			<Effect lines={lines} />
			<div class="view-bar">
				<button type="submit" class="main">
					Use
				</button>
				<button type="button" onClick={() => save(lines.trim())} disabled={!lines.trim()}>
					Save as a file
				</button>
				<button
					type="button"
					onClick={() => {
						setOpen(false);
						setSuppress('');
					}}
				>
					Without
				</button>
			</div>
		</form>
	);
}
