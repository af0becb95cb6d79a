"""The page in a browser: no error, no request, every plot drawn, what is chosen is shown."""

import json
import shutil

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")
selenium = pytest.importorskip("selenium.webdriver", reason="needs selenium: pip install 'nke[dev]'")

pytestmark = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None,
    reason="needs Chromium with its driver: apt-get install chromium chromium-driver",
)


@pytest.fixture(scope="module")
def browser():
    options = selenium.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = selenium.Chrome(options, selenium.ChromeService(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(params=["dated_report", "hostile_report"])
def opened(request, browser, tmp_path):
    """A report in the browser."""
    report = request.getfixturevalue(request.param)
    report.save(tmp_path / "report.html")
    browser.get((tmp_path / "report.html").as_uri())
    return browser


def requests(browser):
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    return [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]


def test_opens_without_error_or_request(opened):
    assert opened.execute_script("return document.body.dataset.drawn") == "yes"
    plots, drawn = (
        opened.execute_script(f"return document.querySelectorAll('{selector}').length")
        for selector in (".panels > div", ".panels > div .cartesianlayer .trace")
    )
    empty = opened.execute_script(
        "const plots = [...document.querySelectorAll('.panels > div')];"
        "return plots.filter((plot) => !plot.querySelector('.cartesianlayer path, .hm')).length;"
    )
    assert plots >= 10
    assert drawn > plots
    assert empty == 0
    assert opened.get_log("browser") == []
    assert [url for url in requests(opened) if not url.startswith(("file:", "data:", "blob:"))] == []
    assert opened.execute_script("return window.broken") is None


def test_the_slider_moves_the_density(opened):
    densities = [
        opened.execute_script(
            """
            const figure = document.getElementById("chart-forecast"), slider = figure.querySelector("input");
            slider.value = arguments[0];
            slider.dispatchEvent(new Event("input"));
            const forecast = figure.querySelectorAll(".panels > div")[1].data.find((t) => t.name === "forecast");
            return [figure.querySelector("output").textContent, forecast.y];
            """,
            place,
        )
        for place in (0, 5)
    ]
    assert densities[0][0] != densities[1][0]
    assert densities[0][1] != densities[1][1]


@pytest.mark.parametrize("opened", ["hostile_report"], indirect=True)
def test_the_choice_of_coordinates(opened):
    shown = [
        opened.execute_script(
            """
            const figure = document.getElementById("chart-drift"), select = figure.querySelector("select");
            select.selectedIndex = arguments[0];
            select.dispatchEvent(new Event("change"));
            return figure.querySelector(".ytitle").textContent + figure.querySelector(".xtitle").textContent;
            """,
            k,
        )
        for k in range(4)
    ]
    assert len(set(shown)) == 4
    assert "<script>window.brok…" in shown[0]
    assert "[(<i>mm</i>)/s]" in shown[0]


@pytest.mark.parametrize("opened", ["dated_report"], indirect=True)
def test_light_and_dark(opened):
    colours = []
    for preference in ("light", "dark"):
        feature = {"name": "prefers-color-scheme", "value": preference}
        opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
        opened.refresh()
        for _ in range(2):
            colours.append(opened.execute_script("return getComputedStyle(document.body).backgroundColor"))
            opened.find_element("id", "theme").click()
    assert colours[0] == colours[3] != colours[1] == colours[2]


@pytest.mark.parametrize("opened", ["hostile_report"], indirect=True)
def test_a_phone_need_not_scroll_sideways(opened):
    size = {"width": 400, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    opened.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    opened.refresh()
    assert opened.execute_script("return document.documentElement.scrollWidth") <= 400
    opened.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
