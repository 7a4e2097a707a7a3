# What the benchmark's Perl does: words counted, hashes of arrays, sorted and joined.
use strict;
use warnings;

my (%count, %list);
my $seed = 42;
for my $i (1 .. 700_000) {
	$seed = ($seed * 1103515245 + 12345) & 0x7fffffff;
	my $word = "word" . ($seed % 20_000);
	$count{$word}++;
	push @{ $list{ $seed % 500 } }, "$word $i";
}
my $length = 0;
for my $key (sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count) {
	$length += length(join ",", $key, $count{$key}, map { $_ * 2 } 1 .. 3);
}
for my $key (sort keys %list) {
	my %seen = map { (split / /)[0] => 1 } @{ $list{$key} };
	$length += keys %seen;
}
print scalar(keys %count), " $length\n";
