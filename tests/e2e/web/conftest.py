"""What tests of the web interface share: one chromium and one recording for all of them, a tab for each test.

    def test_it(page, server):              a tab, and the server of the sample web_server
        page.open("#/flame")
    def test_another(browse, serve, path):  a tab for any server, or for any origin
        page = browse(serve(path))

After the test, every tab is checked (browser.Page.check()). A failed test leaves a picture of each tab in
build/web-failed."""
import fcntl

import pytest

import browser
from conftest import TOP, need
from servers import Server, serve  # noqa: F401

FAILED = TOP / "build" / "web-failed"


@pytest.fixture(scope="session")
def driver(tmp_path_factory):
    need(browser.CHROMIUM)
    need(browser.DRIVER)
    pytest.importorskip("selenium", reason="python3-selenium is not installed")
    driver = browser.start(tmp_path_factory.mktemp("chromium"))
    yield driver
    driver.quit()


@pytest.fixture(scope="session")
def recording(tool, compile_sample, tmp_path_factory, request):
    """Of the sample web_server, made by one of the processes that run tests, for all of them."""
    shared = tmp_path_factory.getbasetemp()
    if hasattr(request.config, "workerinput"):
        shared = shared.parent
    path = shared / "web_server.mallow"
    with open(shared / "web_server.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            partial = path.with_suffix(".partial")
            run = tool("run", "-o", partial, "--free-stacks", "--memory-samples", "10ms", "--",
                       compile_sample("web_server", "gcc", "-O1"), check=False)
            assert run.returncode == 7, run.stderr
            partial.rename(path)
    return path


@pytest.fixture(scope="session")
def server(mallow, recording):
    """Of that recording."""
    server = Server(mallow, recording)
    yield server
    server.end()


@pytest.fixture
def browse(driver, serve):  # noqa: F811: servers end after their tabs
    """browse(server or origin): a browser.Page, in a tab of its own."""
    pages = []

    def tab(at):
        pages.append(browser.Page(driver, getattr(at, "port", at)))
        return pages[-1]

    tab.pages = pages
    yield tab
    try:
        for page in pages:
            page.check()
    finally:
        for page in reversed(pages):
            page.close()


@pytest.fixture
def page(browse, server):
    return browse(server)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if report.when == "call" and report.failed and "browse" in item.funcargs:
        FAILED.mkdir(parents=True, exist_ok=True)
        for number, page in enumerate(item.funcargs["browse"].pages):
            path = FAILED / f"{item.name.replace('/', '_')}-{number}.png"
            page.screenshot(path)
            report.sections.append(("picture", str(path)))
