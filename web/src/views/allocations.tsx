export function Allocations() {
	return <h1>Allocations</h1>;
}
