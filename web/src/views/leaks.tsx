export function Leaks() {
	return <h1>Leaks</h1>;
}
