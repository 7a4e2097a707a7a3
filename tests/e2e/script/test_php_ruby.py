"""The frames of PHP and Ruby in stacks, beside what they say themselves."""
import json
import pathlib
import shutil
import subprocess
import textwrap

import pytest

import mallow_reader
from conftest import clean_environment
from test_python import assert_as_said

HERE = pathlib.Path(__file__).parent
PHP, RUBY = ("php", ("PHP 8.2.", "PHP 8.4.")), ("ruby", ("ruby 3.1.",))


def interpreter(name, known):
    """The system's, if it is of a version that is known."""
    found = shutil.which(name)
    said = subprocess.run([found, "-v"], capture_output=True, text=True, check=True).stdout if found else ""
    if not said.startswith(known):
        pytest.skip(f"no {' or '.join(known)} on this machine")
    return found


def record(agent, tmp_path, command, **settings):
    recording, said = tmp_path / "r.mallow", tmp_path / "said"
    included = tmp_path / ("included" + pathlib.Path(command[1]).suffix)
    included.write_text("<?php\nprobe();\n" if included.suffix == ".php" else "\nprobe\n")
    environment = {"LD_PRELOAD": agent, "MALLOW_OUTPUT": recording, "MALLOW_PATCH": "off", **settings}
    ran = subprocess.run([*command[:2], said, included, *command[2:]], capture_output=True, text=True,
                         env=clean_environment() | {key: str(value) for key, value in environment.items()})
    assert (ran.returncode, ran.stderr) == (0, "")
    return mallow_reader.read(recording), json.loads(said.read_text())


def test_frames_are_those_of_php(agent, tmp_path):
    php = interpreter(*PHP)
    recording, said = record(agent, tmp_path, [php, HERE / "probes.php"], USE_ZEND_ALLOC=0)
    assert len(said) > 100
    assert_as_said(recording, said)


def test_frames_are_those_of_ruby(agent, tmp_path):
    ruby = interpreter(*RUBY)
    recording, said = record(agent, tmp_path, [ruby, HERE / "probes.rb"])
    assert len(said) > 100
    assert_as_said(recording, said)


# (what is wrong with it, program, function and line that it is about)
FAULTS = {
    "cache.php": ("""<?php
        class Cache {
            private array $rows = [];
            function load(int $i): void {
                $this->rows[$i] = str_repeat("x", 2000);
            }
        }
        $cache = new Cache();
        for ($i = 0; $i < 3000; $i++)
            $cache->load($i);
        """, "Cache::load cache.php:5"),
    "vendor.php": ("""<?php
        @mkdir("vendor");
        file_put_contents("vendor/rows.php", '<?php function rows($n) { return array_map(fn($i) => str_repeat("r", 900), range(1, $n)); }');
        require "vendor/rows.php";
        function report() {
            return rows(4000);
        }
        $kept = report();
        """, "report vendor.php:6"),
    # gcc sets the code of the loop that reports undefined variables apart.
    "handler.php": ("""<?php
        class Log {
            static $all = [];
            static function handle($number, $text) {
                self::$all[] = $text . str_repeat(".", 500);
                return true;
            }
        }
        set_error_handler(["Log", "handle"]);
        function price($row) { return $row->amount; }
        for ($i = 0; $i < 5000; $i++)
            price(null);
        """, "Log::handle handler.php:5"),
    "objects.rb": ("""
        class Node
          def initialize(next_one) = @next = next_one
        end
        def leak(n) = n.times { $head = Node.new($head) }
        leak(500_000)
        """, "more is in blocks that Ruby hides: --mappings shows them."),
    "closures.rb": ("""
        class Handlers
          def initialize = @all = []
          def add(n)
            table = (1..n).map { |i| "x" * 2000 }
            @all << -> { table.size }
          end
        end
        handlers = Handlers.new
        30.times { handlers.add(100) }
        """, "add closures.rb:5"),
    "library.rb": ("""
        require "json"
        def parse(path)
          JSON.parse(File.read(path))
        end
        File.open("rows", "w") do |file|
          file << "[0"
          20000.times { |i| file << ',"' << "k" * 200 << '"' }
          file << "]"
        end
        kept = parse("rows")
        """, "parse library.rb:4"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_the_answer_first(name, mallow, tmp_path, monkeypatch):
    program, answer = FAULTS[name]
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(textwrap.dedent(program) if program.startswith("\n") else program)
    language = interpreter(*(PHP if name.endswith(".php") else RUBY))
    ran = subprocess.run([mallow, "run", "--force-malloc", "-o", "r.mallow", language, name], env=clean_environment(),
                         capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert answer in " ".join(" ".join(ran.stderr.split("\n")[:5]).split()), ran.stderr
    assert "outer frames" not in ran.stderr
