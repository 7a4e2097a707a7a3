/* A button that opens a list of commands. Esc and a click elsewhere close it; arrows move in it. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

export interface MenuItem {
	text: string;
	title?: string;
	/** A link instead of a command. */
	href?: string;
	download?: string;
	run?: () => void;
}

export function Menu(props: { label: ComponentChildren; title: string; items: MenuItem[]; class?: string }) {
	const [open, setOpen] = useState(false);
	const host = useRef<HTMLDivElement>(null);
	const close = (focus: boolean) => {
		setOpen(false);
		if (focus) host.current?.querySelector('button')?.focus();
	};
	useEffect(() => {
		if (!open) return;
		host.current?.querySelector<HTMLElement>('[role=menuitem]')?.focus();
		const outside = (event: Event) => {
			if (!host.current?.contains(event.target as Node)) close(false);
		};
		document.addEventListener('pointerdown', outside);
		return () => document.removeEventListener('pointerdown', outside);
	}, [open]);
	const key = (event: KeyboardEvent) => {
		if (!open) return;
		event.stopPropagation();
		if (event.key === 'Escape') return close(true);
		const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
		if (!step) return;
		event.preventDefault();
		const items = [...(host.current?.querySelectorAll<HTMLElement>('[role=menuitem]') ?? [])];
		const at = items.indexOf(document.activeElement as HTMLElement);
		items[(at + step + items.length) % items.length]?.focus();
	};
	return (
		<div class={`menu ${props.class ?? ''}`} ref={host} onKeyDown={key}>
			<button type="button" title={props.title} aria-haspopup="menu" aria-expanded={open} onClick={() => setOpen(!open)}>
				{props.label}
			</button>
			{open ? (
				<div class="menu-list" role="menu" aria-label={props.title}>
					{props.items.map((item) =>
						item.href ? (
							<a key={item.text} role="menuitem" href={item.href} download={item.download} title={item.title} onClick={() => close(true)}>
								{item.text}
							</a>
						) : (
							<button
								key={item.text}
								type="button"
								role="menuitem"
								title={item.title}
								onClick={() => {
									close(true);
									item.run?.();
								}}
							>
								{item.text}
							</button>
						),
					)}
				</div>
			) : null}
		</div>
	);
}
