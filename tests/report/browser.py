"""Drive a headless Chromium through its DevTools pipe: no web socket, no port, standard library only.

Everything the page asks for or complains about is kept, so that a test can look at it."""
import base64
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time


def find():
    """The Chromium of this machine, None if there is none."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        path = shutil.which(name)
        if path:
            return path
    return None


class Browser:
    """One page of one browser. Use as a context manager."""

    def __init__(self, program, timeout_s=600):
        self.deadline = time.monotonic() + timeout_s
        self.folder = tempfile.mkdtemp(prefix="adept-browser-")
        to_read, self.commands = os.pipe()
        self.replies, to_write = os.pipe()

        def place_pipes():  # Chromium reads descriptor 3 and writes descriptor 4
            low_read, low_write = os.dup(to_read), os.dup(to_write)
            os.dup2(low_read, 3)
            os.dup2(low_write, 4)

        self.process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run",
             "--hide-scrollbars", "--force-color-profile=srgb", "--remote-debugging-pipe",
             "--user-data-dir=" + self.folder, "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            close_fds=False, preexec_fn=place_pipes, start_new_session=True)
        os.close(to_read)
        os.close(to_write)
        self.buffer = b""
        self.last_id = 0
        self.session = None
        self.events = []

    def __enter__(self):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        return self

    def __exit__(self, *_):
        os.close(self.commands)
        try:
            os.killpg(self.process.pid, signal.SIGKILL)  # its own group: started above
        except ProcessLookupError:
            pass
        self.process.wait()
        os.close(self.replies)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _read(self):
        while b"\0" not in self.buffer:
            left_s = self.deadline - time.monotonic()
            if left_s <= 0 or not select.select([self.replies], [], [], left_s)[0]:
                raise TimeoutError("the browser does not answer")
            chunk = os.read(self.replies, 1 << 20)
            if not chunk:
                raise RuntimeError("the browser has ended")
            self.buffer += chunk
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **params):
        """Send a command and wait for its answer; events that come first are kept."""
        self.last_id += 1
        message = {"id": self.last_id, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while True:
            reply = self._read()
            if reply.get("id") == self.last_id:
                if "error" in reply:
                    raise RuntimeError(f"{method}: {reply['error']}")
                return reply["result"]
            if "method" in reply:
                self.events.append(reply)

    def open(self, url, width=1200, height=900, scale=1, media=(), runs=True):
        """Open a page and wait until it is loaded and, unless its scripts cannot run, has been quiet for a moment."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale,
                  mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": n, "value": v} for n, v in media])
        self.events.clear()
        self.call("Page.navigate", url=url)
        while not any(e["method"] == "Page.loadEventFired" for e in self.events):
            self.events.append(self._read())
        if runs:
            self.evaluate("new Promise(done => setTimeout(done, 120))")

    def evaluate(self, expression):
        """Value of an expression of the page, which a content security policy does not keep from being asked."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(str(result["exceptionDetails"]))
        return result["result"].get("value")

    def requests(self):
        """What the page asked for since it was opened."""
        return [e["params"]["request"]["url"] for e in self.events if e["method"] == "Network.requestWillBeSent"]

    def complaints(self):
        """Messages on the console, whatever their level, and exceptions."""
        found = []
        for event in self.events:
            if event["method"] == "Log.entryAdded":
                found.append(event["params"]["entry"]["text"])
            elif event["method"] == "Runtime.consoleAPICalled":
                found.append(str(event["params"]["args"]))
            elif event["method"] == "Runtime.exceptionThrown":
                found.append(str(event["params"]["exceptionDetails"]))
        return found

    def screenshot(self, path, full=True):
        """The page as PNG."""
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=full)["data"]
        with open(path, "wb") as out:
            out.write(base64.b64decode(data))


if __name__ == "__main__":  # browser.py PAGE PICTURE.png [WIDTH [HEIGHT [SCALE]]]: to look at a page
    import pathlib
    import sys
    numbers = [float(text) for text in sys.argv[3:]]
    width, height, scale = (numbers + [1200, 900, 1][len(numbers):])[:3]
    with Browser(find()) as page:
        page.open(pathlib.Path(sys.argv[1]).resolve().as_uri(), int(width), int(height), scale)
        page.screenshot(sys.argv[2])
        print("\n".join(page.complaints()), end="")
