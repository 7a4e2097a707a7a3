export function FlameView() {
	return <h1>FlameView</h1>;
}
