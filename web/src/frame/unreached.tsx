/* Says that the server does not answer, and of when what is shown is. */
import { useEffect, useState } from 'preact/hooks';
import { lastAnswer, unreachedSince } from '../api/reach';

const clock = (at: number): string => new Date(at).toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit' });

export function Unreached() {
	const [, redraw] = useState(0);
	const since = unreachedSince.value;
	useEffect(() => {
		if (since === null) return;
		const timer = setInterval(() => redraw((n) => n + 1), 1000);
		return () => clearInterval(timer);
	}, [since]);
	if (since === null) return null;
	const seconds = Math.round((Date.now() - since) / 1000);
	const from = lastAnswer.value === null ? '' : `; this is from ${clock(lastAnswer.value)}`;
	return (
		<div class="unreached" role="alert">
			The server is not reached for {seconds} s{from}. It is asked again by itself.
		</div>
	);
}
