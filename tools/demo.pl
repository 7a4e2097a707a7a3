# What `make demo` records: Perl counts the pairs of words in the files that it is given.
while (<>) {
	for (/\w+/g) { $pairs{"$last $_"}++; $last = $_ }
}
my @most = sort { $pairs{$b} <=> $pairs{$a} || $a cmp $b } keys %pairs;
print scalar(@most), " pairs of words; most frequent:\n";
print "  $pairs{$_} times \"$_\"\n" for @most[0 .. 4];
