<?php
/* PHP code of all kinds, run by test_php_ruby.py under the agent. Each probe allocates a string of a size that no other
 * has, and says what debug_backtrace() says of its callers: one object of JSON, into the file that is named. */

$said = [];
$kept = [];

function callers(int $line): array
{
    $frames = [["<internal>", 0, "str_repeat"]];
    $file = __FILE__;
    foreach (array_slice(debug_backtrace(), 1) as $call) {
        // A class without a name has one of its place behind a NUL.
        $name = isset($call["class"]) ? strtok($call["class"], "\0") . "::" . $call["function"] : $call["function"];
        if (str_starts_with($name, "Fiber::")) // a fiber has a stack of its own
            return $frames;
        $internal = !in_array($call["function"], ["include", "require", "eval"]) && is_internal($call);
        $frames[] = $internal ? ["<internal>", 0, $name]
            : [$file, $line, in_array($name, ["include", "require", "eval"]) ? "{main}" : $name];
        [$file, $line] = [$call["file"] ?? "", $call["line"] ?? 0];
    }
    if ($line)
        $frames[] = [$file, $line, "{main}"];
    return $frames;
}

function is_internal(array $call): bool
{
    if (str_contains($call["function"], "{closure"))
        return false;
    return isset($call["class"]) ? (new ReflectionMethod($call["class"], $call["function"]))->isInternal()
        : (new ReflectionFunction($call["function"]))->isInternal();
}

function probe(): int
{
    global $said, $kept;
    $length = 100001 + 8 * count($said);
    $kept[] = str_repeat("x", $length); $line = __LINE__;
    $said[$length + 32] = callers($line);
    return 1;
}

function recursion(int $depth): int
{
    return $depth ? recursion($depth - 1) : probe();
}

function numbers()
{
    probe();
    yield 1;
    foreach (more() as $x)
        yield $x;
    return probe();
}

function more()
{
    probe();
    yield 2;
}

trait Tells
{
    function told() { return probe(); }
}

class Magic implements ArrayAccess, IteratorAggregate, Countable
{
    use Tells;
    function __construct() { probe(); }
    function __destruct() { probe(); }
    function __get($name) { return probe(); }
    function __call($name, $arguments) { return probe(); }
    static function __callStatic($name, $arguments) { return probe(); }
    function __toString(): string { return "" . probe(); }
    function __invoke($x) { return probe(); }
    function offsetExists($at): bool { return (bool) probe(); }
    function offsetGet($at): mixed { return probe(); }
    function offsetSet($at, $value): void { probe(); }
    function offsetUnset($at): void { probe(); }
    function getIterator(): Iterator { probe(); return new ArrayIterator([1]); }
    function count(): int { return probe(); }
    function closure(): Closure { return fn() => probe(); }
}

function language(): void
{
    probe();
    recursion(5);
    recursion(300);
    array_map(fn($x) => probe(), [1, 2]);
    array_map("recursion", [0, 3]);
    $pair = [3, 1];
    usort($pair, function ($a, $b) { probe(); return $a <=> $b; });
    preg_replace_callback("/b/", fn($m) => "" . probe(), "abc");
    call_user_func_array([new Magic(), "told"], []);
    $magic = new Magic();
    $magic->nothing;
    $magic->nobody();
    Magic::nobody();
    "$magic";
    $magic(1);
    isset($magic[1]);
    $magic[1];
    $magic[1] = 2;
    unset($magic[1]);
    foreach ($magic as $x)
        probe();
    count($magic);
    ($magic->closure())();
    unset($magic);
    foreach (numbers() as $x)
        probe();
    try {
        probe();
        throw new Exception("x");
    } catch (Exception $e) {
        probe();
    } finally {
        probe();
    }
    eval('probe(); function evaluated() { return probe(); } evaluated();');
    for ($i = 0; $i < 4; $i++)
        eval($i % 2 ? 'probe();' : "\n" . 'probe();');
    include $GLOBALS["argv"][2];
    ob_start(function ($text) { probe(); return $text; });
    echo "x";
    ob_end_flush();
    spl_autoload_register(function ($name) { probe(); });
    is_subclass_of("Unknown", "Nothing");
    set_error_handler(function () { probe(); return true; });
    trigger_error("x");
    iterator_to_array(new CallbackFilterIterator(new ArrayIterator([1, 2]), fn($x) => probe()));
}

function fibers(): void
{
    $fibers = [];
    foreach ([1, 2, 3] as $number) {
        $fibers[] = $fiber = new Fiber(function () {
            probe();
            Fiber::suspend();
            recursion(3);
        });
        $fiber->start();
    }
    foreach ($fibers as $fiber)
        $fiber->resume();
}

function random(int $depth): void
{
    for ($i = mt_rand(1, 3); $i; $i--) {
        switch ($depth > 6 ? 0 : mt_rand(0, 4)) {
        case 0: probe(); break;
        case 1: random($depth + 1); break;
        case 2: array_map(fn($x) => random($depth + 1), [1]); break;
        case 3: foreach ((function () use ($depth) { random($depth + 1); yield 1; })() as $x) random($depth + 1); break;
        case 4: (new class { function run($depth) { random($depth); } })->run($depth + 1); break;
        }
    }
}

language();
fibers();
mt_srand(7);
for ($i = 0; $i < 4; $i++)
    random(0);
register_shutdown_function(function () {
    global $said, $argv;
    probe();
    file_put_contents($argv[1], json_encode($said));
});
