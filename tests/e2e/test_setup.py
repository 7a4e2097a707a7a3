"""tools/setup.sh with an apt-get, sudo and policy-rc.d of our own: nothing is installed."""
import os
import subprocess

import pytest

from conftest import TOP

# Asks for each service as Debian's packages do, and says what it was told.
APT_GET = """#!/bin/sh
case "$*" in *" install "*) ;; *) exit 0;; esac
for service in nginx postgresql.service nginx; do
	if [ -x "$POLICY_RC_D" ]; then "$POLICY_RC_D" $service start; echo "$service $?" >>"$TOLD"; fi
done
$THEN
"""


@pytest.fixture
def setup(tmp_path):
    """setup(then, policy): runs it; then: what apt-get does at last."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, text in {"apt-get": APT_GET, "sudo": '#!/bin/sh\nexec "$@"\n',
                       "dpkg-query": "#!/bin/sh\n"}.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    policy, told = tmp_path / "policy-rc.d", tmp_path / "told"
    temporary = tmp_path / "tmp"
    temporary.mkdir()

    def run(then="true", there=None):
        if there is not None:
            policy.write_text(there)
            policy.chmod(0o755)
        environment = dict(os.environ, PATH=f"{folder}:{os.environ['PATH']}", TOLD=str(told),
                           POLICY_RC_D=str(policy), TMPDIR=str(temporary))
        (folder / "apt-get").write_text(APT_GET.replace("$THEN", then))
        result = subprocess.run([TOP / "tools/setup.sh", "build"], env=environment, timeout=60,
                                capture_output=True, text=True)
        assert not list(temporary.iterdir())
        result.told = told.read_text().split("\n")[:-1] if told.exists() else []
        result.policy = policy.read_text() if policy.exists() else None
        return result

    return run


FORBIDDEN = ["nginx 101", "postgresql.service 101", "nginx 101"]


def test_services_are_not_started(setup):
    run = setup()
    assert (run.returncode, run.told, run.policy) == (0, FORBIDDEN, None)
    assert run.stdout.splitlines()[1:] == [
        "setup: not started, but at the next boot they are (systemctl disable NAME): "
        "nginx postgresql"]


@pytest.mark.parametrize("then", ["exit 100", "kill -TERM $PPID; sleep 1"])
def test_nothing_is_left_where_it_fails(then, setup):
    run = setup(then)
    assert (run.returncode, run.told, run.policy) == (1, FORBIDDEN, None)


def test_a_policy_of_the_machine_stays(setup):
    there = "#!/bin/sh\nexit 104\n"
    run = setup(there=there)
    assert (run.returncode, run.policy) == (0, there)
    assert [line.split()[1] for line in run.told] == ["104"] * 3
    assert len(run.stdout.splitlines()) == 1


def test_what_a_killed_run_left_goes(setup):
    """Its folder may be gone."""
    killed = setup("cat $POLICY_RC_D >&2; exit 1").stderr
    left = killed[killed.index("#!/bin/sh"):killed.index("exit 101")] + "exit 101\n"
    run = setup(there=left)
    assert (run.returncode, run.policy) == (0, None)
    assert run.told[-3:] == FORBIDDEN
