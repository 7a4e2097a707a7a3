"""The sample programs, run and compared with what they state."""
import expect


def check_report(recorded, name, *kinds):
    """The tool finds the recording sound, and in it what the sample states."""
    info = recorded.info_json
    assert info["complete"] and info["end_status"] == 7 and not info["damaged_chunks"]
    assert info["lost"] == info["missing_chunks"] == info["losses"]["broken_stacks"] == 0, info["losses"]
    assert info["implicit_frees"] == 0
    wanted = expect.expectations(name, *kinds)
    assert wanted, f"sample {name} states nothing"
    expect.check_report(wanted, recorded.report_json)


def check_sample(recorded, name, functions_of, *kinds):
    """The recording is sound, holds what the sample states, and the tool reports the same."""
    recorded.assert_sound()
    wanted = expect.expectations(name, *kinds)
    assert wanted, f"sample {name} states nothing"
    expect.check(wanted, expect.by_function(recorded.sums, functions_of))
    assert recorded.sums.implicit_frees == 0
    report = recorded.tool.assert_equal_sums(recorded.path, recorded.sums)
    expect.check_report(wanted, report)


def run_sample(record, command, **options):
    recorded = record(command, check=False, **options)
    assert recorded.returncode == 7, recorded.stderr or recorded.stdout
    return recorded


def limit_descriptors():
    import resource
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))


def assert_own_files_untouched(files):
    paths = list(files.iterdir())
    assert len(paths) > 900
    for path in paths:
        assert path.read_text() == "this file is the program's own\n", path
