"""What holds for every page of the web interface, from a server as from a file."""

# What can be worked with, and is cut by the window's right edge though nothing scrolls there, or ends in an ellipsis.
CUT = """const may = (style) => ['auto', 'scroll'].includes(style.overflowX) || style.textOverflow === 'ellipsis';
const scrolls = (one) => one && one !== document.body && (may(getComputedStyle(one)) || scrolls(one.parentElement));
return [...document.querySelectorAll('button, select, input, h1, a')]
    .filter((one) => one.checkVisibility() && one.getBoundingClientRect().right > innerWidth + 1 && !scrolls(one))
    .map((one) => one.outerHTML.slice(0, 100));"""


def assert_sound(page, place):
    """A heading, nothing for axe-core to find, light and dark, and no sideways scrolling on a phone."""
    for theme, width in (("light", 1440), ("dark", 1440), ("light", 380)):
        where = place, theme, width
        page.theme(theme)
        page.size(width, 900)
        page.open(place)
        assert len(page.texts("h1")) == 1, where
        found = page.axe()
        assert not found, (where, found)
        assert page.run("return document.documentElement.scrollWidth") <= width, where
        cut = page.run(CUT)
        assert not cut, (where, cut)
    page.theme("light")
