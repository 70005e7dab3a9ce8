"""Debian's chromium, headless, driven over a pipe by its own protocol: keys, pointers, sizes and pictures as a user has
them."""

from __future__ import annotations

import base64
import json
import os
import select
import subprocess
import time
from pathlib import Path
from typing import Any

OPTIONS = """--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
--disable-component-update --disable-sync --hide-scrollbars --remote-debugging-pipe --disable-extensions
--force-color-profile=srgb"""
SECONDS = 60.0
KEYS = {
    "Enter": 13,
    "Escape": 27,
    "Tab": 9,
    "End": 35,
    "Home": 36,
    "ArrowLeft": 37,
    "ArrowUp": 38,
    "ArrowRight": 39,
    "ArrowDown": 40,
}


class Browser:
    """One process with a profile of its own; `page` opens a tab."""

    def __init__(self, folder: Path):
        to_it, self.out = os.pipe()
        self.into, from_it = os.pipe()

        def pipes() -> None:
            # The protocol wants descriptors 3 and 4; moved away first, lest one stands where the other is wanted.
            ends = os.dup(to_it), os.dup(from_it)
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        self.process = subprocess.Popen(
            ["chromium", *OPTIONS.split(), f"--user-data-dir={folder / 'profile'}", "about:blank"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            close_fds=False,
            preexec_fn=pipes,
            start_new_session=True,
        )
        os.close(to_it)
        os.close(from_it)
        self.rest = b""
        self.last = 0
        self.events: list[dict[str, Any]] = []

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.call("Browser.close")
        except (OSError, TimeoutError):
            pass
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(20)
        os.close(self.out)
        os.close(self.into)

    def call(self, method: str, session: str | None = None, **words: Any) -> dict[str, Any]:
        self.last += 1
        said = {
            "id": self.last,
            "method": method,
            "params": words,
            **({"sessionId": session} if session else {}),
        }
        os.write(self.out, json.dumps(said).encode() + b"\0")
        deadline = time.monotonic() + SECONDS
        while True:
            told = self.hear(deadline)
            if told.get("id") == self.last:
                assert "error" not in told, (method, told["error"])
                return told["result"]
            self.events.append(told)

    def hear(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self.rest:
            if not select.select([self.into], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise TimeoutError("chromium says nothing")
            part = os.read(self.into, 1 << 16)
            if not part:
                raise OSError("chromium has ended")
            self.rest += part
        line, _, self.rest = self.rest.partition(b"\0")
        return json.loads(line)

    def page(self, width: int = 1440, height: int = 900, dark: bool = False) -> Page:
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session, target)
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.call(f"{domain}.enable")
        page.size(width, height)
        page.scheme(dark)
        return page


class Page:
    """A tab."""

    def __init__(self, browser: Browser, session: str, target: str):
        self.browser, self.session, self.target = browser, session, target

    def call(self, method: str, **words: Any) -> dict[str, Any]:
        return self.browser.call(method, self.session, **words)

    def size(self, width: int, height: int) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 500,
        )  # fmt: skip

    def scheme(self, dark: bool) -> None:
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", features=features)

    def open(self, address: str) -> None:
        self.call("Page.navigate", url=address)

    def look(self, expression: str) -> Any:
        """The value of JavaScript, as JSON; a promise is waited for."""
        told = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in told, told["exceptionDetails"]
        return told["result"].get("value")

    def until(self, expression: str, seconds: float = 30.0) -> Any:
        """Its value once it is true; of an element, that it is there. A page that is not there yet has none."""
        expression = (
            f"(() => {{ try {{ const found = ({expression}); return found instanceof Node || found }} "
        )
        expression += "catch (error) { return null } })()"
        deadline = time.monotonic() + seconds
        while True:
            found = self.look(expression)
            if found:
                return found
            assert time.monotonic() < deadline, (expression, self.look("document.body.innerText")[:2000])
            time.sleep(0.05)

    def key(self, name: str, shift: bool = False) -> None:
        words: dict[str, Any] = {"key": name, "code": name, "modifiers": 8 if shift else 0}
        code = KEYS.get(name)
        if code is not None:
            words.update(windowsVirtualKeyCode=code, **({"text": "\r"} if name == "Enter" else {}))
        elif len(name) == 1:
            words["text"] = name
        self.call("Input.dispatchKeyEvent", type="keyDown", **words)
        words.pop("text", None)
        self.call("Input.dispatchKeyEvent", type="keyUp", **words)

    def type(self, text: str) -> None:
        self.call("Input.insertText", text=text)

    def drag(self, selector: str, first: float, last: float) -> None:
        """With the pointer over an element, from one share of its width to another."""
        box = self.look(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); "
            " e.scrollIntoView({block: 'center'});"
            " const b = e.getBoundingClientRect(); return [b.left, b.top, b.width, b.height] })()"
        )
        y = box[1] + box[3] / 2
        for kind, part in (
            ("mouseMoved", first),
            ("mousePressed", first),
            ("mouseMoved", last),
            ("mouseReleased", last),
        ):
            words = (
                {}
                if kind == "mouseMoved" and part == first
                else {"button": "left", "buttons": 1, "clickCount": 1}
            )
            self.call("Input.dispatchMouseEvent", type=kind, x=box[0] + box[2] * part, y=y, **words)

    def picture(self, path: Path, whole: bool = False) -> Path:
        told = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(told["data"]))
        return path

    def close(self) -> None:
        self.browser.call("Target.closeTarget", targetId=self.target)

    def complaints(self) -> list[str]:
        """What came to the console as an error or a warning: exceptions, violations of the policy, failed requests."""
        self.look("1")
        found = []
        for event in self.browser.events:
            words = event.get("params", {})
            if event.get("sessionId") != self.session:
                continue
            if event["method"] == "Runtime.exceptionThrown":
                found.append(str(words["exceptionDetails"].get("exception", words["exceptionDetails"])))
            elif event["method"] == "Log.entryAdded" and words["entry"]["level"] in ("error", "warning"):
                found.append(f"{words['entry']['text']} {words['entry'].get('url', '')}")
            elif event["method"] == "Runtime.consoleAPICalled" and words["type"] in ("error", "warning"):
                found.append(str(words["args"]))
        return found

    def requested(self) -> list[str]:
        """The address of each request that the page made."""
        events = [e for e in self.browser.events if e.get("sessionId") == self.session]
        return [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]
