"""Chromium without a window, for tests of pages: driven by its DevTools protocol over two pipes."""

import base64
import io
import json
import os
import select
import shutil
import signal
import subprocess
import time

import matplotlib.image
import numpy as np

PATIENCE = 120  # s, after which the browser hangs
OPTIONS = [
    "--headless",
    "--remote-debugging-pipe",
    "--no-sandbox",
    "--no-first-run",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--hide-scrollbars",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
]


def executable():
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        raise RuntimeError("pages are tested in Chromium, which is not here; install chromium (apt-get install -y chromium)")
    return found


class Browser:
    """Pages one after the other; `console` has what went wrong on the present one, `asked_for` the addresses it loaded."""

    def __init__(self, profile, *options):
        self._read_end, theirs_out = os.pipe()
        theirs_in, self._write_end = os.pipe()
        # Chromium reads from descriptor 3 and writes to 4.
        script = f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}'
        command = ["bash", "-c", script, "browser", executable(), *OPTIONS, f"--user-data-dir={profile}", *options]
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self._process = subprocess.Popen(command, pass_fds=(theirs_in, theirs_out), start_new_session=True, **quiet)
        os.close(theirs_in)
        os.close(theirs_out)
        self._rest, self._number, self._session = b"", 0, None
        self.console, self.asked_for, self._events = [], [], []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._session = None
        try:
            self.call("Browser.close")
            self._process.wait(PATIENCE)
        except (OSError, AssertionError, subprocess.TimeoutExpired):
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        os.close(self._read_end)
        os.close(self._write_end)

    def _message(self):
        begun = time.monotonic()
        while b"\0" not in self._rest:
            left = PATIENCE - (time.monotonic() - begun)
            assert left > 0 and select.select([self._read_end], [], [], left)[0], "the browser hangs"
            some = os.read(self._read_end, 1 << 20)
            assert some, "the browser has ended"
            self._rest += some
        message, _, self._rest = self._rest.partition(b"\0")
        message = json.loads(message)
        self._note(message.get("method"), message.get("params", {}))
        return message

    def _note(self, event, values):
        self._events.append(event)
        if event == "Runtime.consoleAPICalled" and values["type"] in ("error", "assert"):
            self.console.append(str(values["args"]))
        elif event == "Runtime.exceptionThrown":
            self.console.append(str(values["exceptionDetails"]))
        elif event == "Log.entryAdded" and values["entry"]["level"] == "error":
            self.console.append(values["entry"]["text"])
        elif event == "Network.requestWillBeSent" and not values["request"]["url"].startswith("data:"):
            self.asked_for.append(values["request"]["url"])

    def call(self, method, **values):
        self._number += 1
        number = self._number
        message = {"id": number, "method": method, "params": values}
        message |= {} if self._session is None else {"sessionId": self._session}
        os.write(self._write_end, json.dumps(message).encode() + b"\0")
        while (answer := self._message()).get("id") != number:
            pass
        assert "error" not in answer, (method, answer["error"])
        return answer["result"]

    def open(self, page, width=1000, height=900, dark=False, phone=False):
        """A file or an address in a new tab, until it is loaded and drawn."""
        self._session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        ratio = 2 if phone else 1
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=ratio, mobile=phone)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.console, self.asked_for, self._events = [], [], []
        self.call("Page.navigate", url=page if isinstance(page, str) else page.resolve().as_uri())
        while "Page.loadEventFired" not in self._events:
            self._message()
        self.settle()

    def settle(self):
        """Until what was asked for is drawn."""
        self.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def evaluate(self, script):
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def rectangle(self, selector):
        """x, y, width, height in pixels of the page, once it is in view."""
        script = f"""(() => {{
            const element = document.querySelector({json.dumps(selector)});
            element.scrollIntoView({{block: "center", behavior: "instant"}});
            const box = element.getBoundingClientRect();
            return [box.x, box.y, box.width, box.height];
        }})()"""
        return self.evaluate(script)

    def picture(self, selector=None):
        """(rows, columns, 3) of the bytes on the screen, of an element or all that is in view."""
        clip = {}
        if selector is not None:
            x, y, width, height = self.rectangle(selector)
            top = self.evaluate("window.scrollY")
            clip = {"clip": {"x": x, "y": y + top, "width": width, "height": height, "scale": 1}}
        self.settle()
        png = base64.b64decode(self.call("Page.captureScreenshot", format="png", **clip)["data"])
        return np.round(255 * matplotlib.image.imread(io.BytesIO(png))[:, :, :3]).astype(int)

    def save_picture(self, file, **options):
        file.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png", **options)["data"]))

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def drag(self, selector, right, down):
        x, y, width, height = self.rectangle(selector)
        x, y = x + width / 2, y + height / 2
        self.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
        for part in (0.25, 0.5, 0.75, 1.0):
            self.mouse("mouseMoved", x + part * right, y + part * down, button="left", buttons=1)
        self.mouse("mouseReleased", x + right, y + down, button="left", clickCount=1)
        self.settle()

    def wheel(self, selector, by):
        x, y, width, height = self.rectangle(selector)
        self.mouse("mouseWheel", x + width / 2, y + height / 2, deltaX=0, deltaY=by)
        self.settle()

    def click(self, selector):
        x, y, width, height = self.rectangle(selector)
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x + width / 2, y + height / 2, button="left", clickCount=1)
        self.settle()
