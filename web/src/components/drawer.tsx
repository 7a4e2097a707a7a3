/* More of a row: beside the view where there is room, else a sheet from below. Esc closes it. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import '../styles/drawer.css';

export function Drawer(props: { title: ComponentChildren; label: string; onClose: () => void; children: ComponentChildren }) {
	const host = useRef<HTMLElement>(null);
	useEffect(() => {
		const before = document.activeElement as HTMLElement | null;
		return () => before?.focus?.();
	}, []);
	return (
		<aside
			class="drawer"
			ref={host}
			aria-label={props.label}
			onKeyDown={(event) => {
				if (event.key !== 'Escape') return;
				event.stopPropagation();
				props.onClose();
			}}
		>
			<div class="drawer-head">
				<h2>{props.title}</h2>
				<button type="button" class="plain" aria-label="close" title="close (Esc)" onClick={props.onClose}>
					✕
				</button>
			</div>
			{props.children}
		</aside>
	);
}
