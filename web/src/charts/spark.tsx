/* A small curve of live bytes over the run: an area, in the colour of what becomes of them. */

export function Spark(props: { values: number[]; width?: number; height?: number; leaked?: boolean; label?: string }) {
	const { values, width = 96, height = 18 } = props;
	const most = Math.max(1, ...values);
	const x = (i: number) => ((i / Math.max(1, values.length - 1)) * width).toFixed(1);
	const y = (value: number) => (height - 1 - (value / most) * (height - 2)).toFixed(1);
	const line = values.map((value, i) => `${i ? 'L' : 'M'}${x(i)} ${y(value)}`).join('');
	return (
		<svg
			class={`spark${props.leaked ? ' leaked' : ''}`}
			width={width}
			height={height}
			viewBox={`0 0 ${width} ${height}`}
			role="img"
			aria-label={props.label ?? 'live bytes over the run'}
		>
			{values.length > 1 ? (
				<>
					<path class="spark-area" d={`${line}L${width} ${height}L0 ${height}Z`} />
					<path class="spark-line" d={line} />
				</>
			) : null}
		</svg>
	);
}
