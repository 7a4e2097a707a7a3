/* A stack, innermost frame first; runs of frames that are no code of the reader's own are one line. */
import { useState } from 'preact/hooks';
import type { Backtrace, Frame } from '../api/generated';
import { useAnswer } from '../api/answer';
import { dataPath } from '../state/state';
import { shortName } from '../text/names';
import { baseName, fileName } from './site_name';
import { Shown } from './shown';

/** A frame as a debugger prints it. */
export const frameText = (frame: Frame): string =>
	`${frame.function ?? frame.address_s}${frame.source ? ` ${frame.source}:${frame.line ?? 0}` : frame.library ? ` [${frame.library}]` : ''}`;

/** Innermost first; of plumbing, how many frames in a row. */
export function folded({ frames, plumbing }: Backtrace): (Frame | { folded: Frame[] })[] {
	const result: (Frame | { folded: Frame[] })[] = [];
	for (let i = frames.length - 1; i >= 0; i--) {
		const frame = frames[i]!;
		const last = result[result.length - 1];
		if (!plumbing[i]) result.push(frame);
		else if (last && 'folded' in last) last.folded.push(frame);
		else result.push({ folded: [frame] });
	}
	return result;
}

/** What the stack is called after: its innermost frame that is no plumbing; null: it has none. */
export function ownFrame({ frames, plumbing }: Backtrace): Frame | null {
	for (let i = frames.length - 1; i >= 0; i--) if (!plumbing[i]) return frames[i]!;
	return null;
}

function FrameLine({ frame, quiet }: { frame: Frame; quiet?: boolean }) {
	return (
		<li class={quiet ? 'plumbing' : ''} title={frameText(frame)}>
			<code>{quiet ? frame.function ?? frame.address_s : <b>{shortName(frame.function ?? frame.address_s)}</b>}</code>{' '}
			<span class="muted">
				{frame.source ? `${fileName(frame.source, frame.library)}:${frame.line ?? ''}` : frame.library}
				{/* An import statement stands in its function as if it were inlined. */}
				{frame.is_inline && !frame.function?.startsWith('import ') ? ' inlined' : ''}
			</span>
		</li>
	);
}

function Fold({ frames }: { frames: Frame[] }) {
	const [open, setOpen] = useState(false);
	if (open)
		return (
			<>
				{frames.map((frame, i) => (
					<FrameLine key={i} frame={frame} quiet />
				))}
			</>
		);
	const library = baseName(frames[0]!.library ?? '');
	return (
		<li class="plumbing">
			<button type="button" class="plain" onClick={() => setOpen(true)}>
				+ {frames.length} of {library || 'no name'}
			</button>
		</li>
	);
}

export function Stack({ id, label }: { id: number; label: string }) {
	const answer = useAnswer<Backtrace>(dataPath(`backtrace/${id}`));
	return (
		<Shown answer={answer} height={90}>
			{(backtrace) => (
				<ol class="stack" aria-label={label}>
					{folded(backtrace).map((entry, i) =>
						'folded' in entry ? <Fold key={i} frames={entry.folded} /> : <FrameLine key={i} frame={entry} />,
					)}
				</ol>
			)}
		</Shown>
	);
}
