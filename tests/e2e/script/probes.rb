# Ruby code of all kinds, run by test_php_ruby.py under the agent. Each probe allocates a string of a size that no other
# has, and says what caller_locations() says of its callers: one object of JSON, into the file that is named.
require "json"
require "set"

SAID = {}
KEPT = []
LOCK = Mutex.new
# Methods in C have the place of their caller, and are not in mallow's stacks as Ruby's.
NATIVE = %w[each map times each_with_index sort_by sort_by! sort! call public_send instance_eval class_eval eval new
            initialize load synchronize start resume next gsub catch == hash inspect first force to_proc each_entry
            __send__ with_index method_missing yield block_given? step loop].to_set

def say(size)
  here = caller_locations(1)
  SAID[size] = here.each_with_index.reject do |l, i|
    NATIVE.include?(l.label) && (here[i + 1].nil? || [here[i + 1].lineno, here[i + 1].path] == [l.lineno, l.path])
  end.map { |l, i| [l.absolute_path || l.path, l.lineno, l.label] }
end

def probe
  LOCK.synchronize do
    size = 100_008 + 8 * SAID.size
    KEPT << "x" * (size - 1); say(size)
  end
  1
end

def recursion(depth)
  depth > 0 ? recursion(depth - 1) : probe
end

class Magic
  include Comparable
  def initialize = probe
  def method_missing(name, *rest) = probe
  def respond_to_missing?(name, all = false) = true
  def to_s = (probe; "magic")
  def hash = (probe; 1)
  def eql?(other) = (probe; true)
  def <=>(other) = (probe; 0)
  def each
    probe
    yield 1
    yield 2
  end
  define_method(:defined) { probe }
end

def language
  probe
  recursion(5)
  recursion(300)
  [1, 2].map { |x| probe }
  [3, 1].sort_by! { |x| probe }
  [3, 1].sort! { |a, b| probe; a <=> b }
  [1, 2].each_with_index { |x, i| [1].each { probe } }
  "abc".gsub(/b/) { probe.to_s }
  magic = Magic.new
  magic.nobody
  "#{magic}"
  { magic => 1 }[magic]
  magic == Magic.new
  magic.each { |x| probe }
  magic.defined
  magic.instance_eval { probe }
  Magic.class_eval { probe }
  magic.define_singleton_method(:own) { probe }
  magic.own
  lambda { |x| probe }.call(1)
  proc { probe }.call
  method(:recursion).to_proc.call(2)
  begin
    probe
    raise "x"
  rescue RuntimeError
    probe
  ensure
    probe
  end
  catch(:done) { probe; throw :done }
  eval("probe\ndef evaluated = probe\nevaluated")
  4.times { |i| eval(i.odd? ? "probe" : "\nprobe") }
  load ARGV[1]
  1.then { probe }
  loop { probe; break }
  Integer("1").tap { probe }
  lazy = (1..3).lazy.map { |x| probe; x }.first(2)
  while_loop = 0
  while_loop += probe while while_loop < 3
  case probe when 1 then probe end
end

def fibers
  list = [1, 2, 3].map do |number|
    Fiber.new do
      probe
      Fiber.yield
      recursion(3)
    end
  end
  list.each(&:resume)
  list.each(&:resume)
  numbers = Enumerator.new { |y| probe; y << 1; probe; y << 2 }
  numbers.next
  numbers.next
end

def threads
  3.times.map { |i| Thread.new { 5.times { probe; Thread.pass; recursion(i) } } }.each(&:join)
end

def random(dice, depth)
  dice.rand(1..3).times do
    case depth > 6 ? 0 : dice.rand(0..4)
    when 0 then probe
    when 1 then random(dice, depth + 1)
    when 2 then [1].map { random(dice, depth + 1) }
    when 3 then Fiber.new { random(dice, depth + 1) }.resume
    when 4 then Class.new { define_method(:run) { |d, n, me| me.__send__(:random, d, n) } }.new.run(dice, depth + 1, self)
    end
  end
end

language
fibers
threads
dice = Random.new(7)
12.times { random(dice, 0) }
at_exit do
  probe
  File.write(ARGV[0], JSON.generate(SAID))
end
