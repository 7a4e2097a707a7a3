/* A dialog by the browser's own element: it keeps the focus, and Esc closes it. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

export function Dialog(props: { title: string; onClose: () => void; children: ComponentChildren }) {
	const dialog = useRef<HTMLDialogElement>(null);
	useEffect(() => {
		dialog.current?.showModal();
		dialog.current?.querySelector<HTMLElement>('input[type=search]')?.focus();
	}, []);
	return (
		<dialog
			ref={dialog}
			aria-label={props.title}
			onClose={props.onClose}
			onKeyDown={(event) => event.stopPropagation()}
			onClick={(event) => {
				if (event.target === dialog.current) dialog.current?.close();
			}}
		>
			<div class="dialog">
				<div class="dialog-head">
					<h2>{props.title}</h2>
					<button type="button" class="plain" aria-label="close" title="close (Esc)" onClick={() => dialog.current?.close()}>
						✕
					</button>
				</div>
				{props.children}
			</div>
		</dialog>
	);
}
