"""What `make demo` says."""
import re
import subprocess

from conftest import TOP, clean_environment


def test_the_demo_answers_with_a_line(mallow, tmp_path):
    said = subprocess.run([TOP / "tools" / "demo.sh", mallow, tmp_path], env=clean_environment(), text=True,
                          capture_output=True, check=True).stdout
    assert re.search(r"^Most memory at .* MB live, .* for index_file  tour\.cpp:\d+\.$", said, re.MULTILINE)
    assert (tmp_path / "demo.svg").exists()
