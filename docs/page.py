# SPDX-License-Identifier: MIT
#
# page.py BUILD OUT.png NARROW.png: pictures of the page of bert-serve, with an answer of the
# model that ships: on a desk, and on a telephone with a dark look. Needs Chromium and
# selenium (python3-selenium).
import os
import subprocess
import sys
import time

from selenium import webdriver
from selenium.webdriver.common.by import By

TEXT = "北京是中国的首[MASK]。"

build, out, narrow = sys.argv[1:]
server = subprocess.Popen([os.path.join(build, "bert-serve"), "-q", "--listen=127.0.0.1:8123"],
                          stderr=subprocess.PIPE, text=True)
server.stderr.readline()  # "ready on ..."
options = webdriver.ChromeOptions()
for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--lang=zh-CN",
                 "--window-size=900,1010", "--force-prefers-reduced-motion",
                 "--hide-scrollbars"):
    options.add_argument(argument)
browser = webdriver.Chrome(options=options)
try:
    browser.get("http://127.0.0.1:8123/")
    box = browser.find_element(By.ID, "text")
    box.clear()
    box.send_keys(TEXT)
    browser.find_element(By.ID, "predict").click()
    end = time.monotonic() + 15
    while time.monotonic() < end and not browser.find_element(By.ID, "results").text:
        time.sleep(0.05)
    browser.execute_script("scrollTo(0, 0)")
    time.sleep(0.5)
    browser.save_screenshot(out)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
        {"name": "prefers-color-scheme", "value": "dark"}]})
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": 360, "height": 780, "deviceScaleFactor": 2, "mobile": True})
    browser.find_element(By.CSS_SELECTOR, ".bar").click()
    browser.execute_script("document.activeElement.blur()")
    browser.execute_script("scrollTo(0, 350)")
    time.sleep(0.5)
    browser.save_screenshot(narrow)
finally:
    browser.quit()
    server.terminate()
