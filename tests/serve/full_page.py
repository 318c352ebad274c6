# SPDX-License-Identifier: MIT
"""The page in a real headless Chromium, driven as a person would. Screenshots for a person to
look at are written to SERVE_SHOTS (default: shots in the build folder)."""
import csv
import io
import os
import shutil
import tempfile
import time
import unittest

try:
    from selenium import webdriver
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
except ImportError:
    webdriver = None

from server import BUILD, Server, temporary_file

SHOTS = os.environ.get('SERVE_SHOTS', os.path.join(BUILD, 'shots'))
TWO_LINES = '北京是[MASK]国的首都。', '他高[MASK]地[MASK]了起来。'

# Contrast of every visible text against what is painted behind it (WCAG 2, AA).
CONTRAST = '''
const part = c => (c /= 255) <= .04045 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4;
const light = c => .2126 * part(c[0]) + .7152 * part(c[1]) + .0722 * part(c[2]);
const parse = text => (text.match(/[\\d.]+/g) ?? [0, 0, 0, 0]).map(Number);
const behind = element => {
  for (let at = element; at; at = at.parentElement) {
    const color = parse(getComputedStyle(at).backgroundColor);
    if ((color[3] ?? 1) > .99) return color;
  }
  return [255, 255, 255];
};
const bad = [];
const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walk.nextNode()) {
  const element = walk.currentNode.parentElement, style = getComputedStyle(element);
  if (!walk.currentNode.textContent.trim() || element.closest('.unseen,.mirror,.skip,script,style,[hidden]')) continue;
  if (!element.getClientRects().length) continue;
  const a = light(parse(style.color)), b = light(behind(element));
  const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
  const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
  if (ratio < (large ? 3 : 4.5)) bad.push(`${ratio.toFixed(2)} ${element.className} ${walk.currentNode.textContent.trim()}`);
}
return bad;
'''


@unittest.skipUnless(webdriver and shutil.which('chromedriver'),
                     'needs chromium, chromium-driver, python3-selenium, fonts-noto-cjk')
class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        os.makedirs(SHOTS, exist_ok=True)
        cls.server = Server()
        cls.downloads = tempfile.mkdtemp()
        options = webdriver.ChromeOptions()
        for argument in ('--headless=new', '--no-sandbox', '--disable-gpu', '--lang=zh-CN',
                         '--disable-dev-shm-usage', '--window-size=1180,980',
                         '--force-prefers-reduced-motion', '--hide-scrollbars'):
            options.add_argument(argument)
        options.add_experimental_option('prefs', {'download.default_directory': cls.downloads})
        options.set_capability('goog:loggingPrefs', {'browser': 'ALL', 'performance': 'ALL'})
        cls.browser = webdriver.Chrome(options=options)

    @classmethod
    def tearDownClass(cls):
        cls.browser.quit()
        cls.server.stop()

    def setUp(self):
        self.browser.execute_cdp_cmd('Emulation.clearDeviceMetricsOverride', {})
        self.emulate('light')
        self.browser.get(f'http://127.0.0.1:{self.server.port}/')
        self.browser.execute_script('localStorage.clear()')
        self.browser.refresh()
        self.until(lambda: self.one('#model.ready'))

    def tearDown(self):
        said = [entry for entry in self.browser.get_log('browser')
                if '400 (Bad Request)' not in entry['message']]  # asked for, and explained
        self.assertEqual(said, [])

    def emulate(self, scheme):
        self.browser.execute_cdp_cmd('Emulation.setEmulatedMedia', {'features': [
            {'name': 'prefers-color-scheme', 'value': scheme},
            {'name': 'prefers-reduced-motion', 'value': 'reduce'}]})

    def narrow(self, width):
        self.browser.execute_cdp_cmd('Emulation.setDeviceMetricsOverride', {
            'width': width, 'height': 780, 'deviceScaleFactor': 2, 'mobile': True})

    def all(self, selector):
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector):
        found = self.all(selector)
        return found[0] if found else None

    def until(self, holds, seconds=15):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            value = holds()
            if value:
                return value
            time.sleep(0.02)
        raise AssertionError('the page did not get there: ' + self.one('body').text[:500])

    def shoot(self, name, whole=True):
        self.browser.execute_script('scrollTo(0, 0)')
        if whole:
            size = self.browser.execute_cdp_cmd('Page.getLayoutMetrics', {})['cssContentSize']
            clip = {'x': 0, 'y': 0, 'width': size['width'], 'height': size['height'], 'scale': 1}
            import base64
            data = self.browser.execute_cdp_cmd('Page.captureScreenshot', {
                'clip': clip, 'captureBeyondViewport': True})['data']
            with open(os.path.join(SHOTS, name), 'wb') as out:
                out.write(base64.b64decode(data))
        else:
            self.browser.save_screenshot(os.path.join(SHOTS, name))

    def type(self, *lines):
        box = self.one('#text')
        box.clear()
        for i, line in enumerate(lines):
            if i:
                box.send_keys(Keys.SHIFT, Keys.ENTER)
                box.send_keys(Keys.NULL)
            box.send_keys(line)
        return box

    def predict(self, *lines):
        self.type(*lines).send_keys(Keys.ENTER)
        self.until(lambda: len(self.all('.answer')) == len(lines) and
                   self.one('#predict').is_enabled())

    def test_type_predict_click(self):
        self.predict('今天天气真[MASK]啊。')
        self.assertEqual([m.get_attribute('textContent') for m in self.all('.mirror mark')],
                         ['[MASK]'])
        bars = self.all('.bar')
        self.assertEqual(len(bars), 5)
        self.assertRegex(bars[0].find_element(By.CSS_SELECTOR, '.part').text, r'^\d+\.\d\d %$')
        word = bars[1].find_element(By.CSS_SELECTOR, '.word').text
        bars[1].click()
        self.assertIn('今天天气真' + word, self.one('.sentence').text.replace('\n', ''))
        self.assertEqual(self.all('.bar')[1].get_attribute('aria-pressed'), 'true')
        self.assertIn(word, self.one('#said').get_attribute('textContent'))
        for part in 'ms', self.one('#precision').text, self.one('#model').text:
            self.assertIn(part, self.browser.title)

    def test_copy(self):
        for clipboard in True, False:  # a page by plain HTTP from elsewhere has none
            self.predict('今天天气真[MASK]啊。')
            if not clipboard:
                self.browser.execute_script(
                    'Object.defineProperty(navigator, "clipboard", {value: undefined})')
            self.all('.bar')[1 if clipboard else 2].click()
            chosen = self.one('.sentence').text.replace('\n', '')
            copy = self.one('.tools button')
            copy.click()
            self.until(lambda: copy.text == '已复制')
            box = self.one('#text')
            box.clear()
            box.send_keys(Keys.CONTROL, 'v')
            self.assertEqual(box.get_attribute('value'), chosen)

    def test_keyboard_alone(self):
        self.one('#text').send_keys('天[MASK]气', Keys.ENTER)
        self.until(lambda: self.all('.bar'))
        self.browser.execute_script('document.querySelector("#predict").focus()')
        for _ in range(40):
            active = self.browser.switch_to.active_element
            if 'bar' in (active.get_attribute('class') or ''):
                break
            active.send_keys(Keys.TAB)
        active.send_keys(Keys.SPACE)
        self.assertEqual(self.all('.bar')[0].get_attribute('aria-pressed'), 'true')
        outline = self.browser.execute_script(
            'return getComputedStyle(document.activeElement).outlineStyle')
        self.assertNotEqual(outline, 'none')

    def test_insert_button_and_enter_while_composing(self):
        box = self.type('今天')
        self.one('#insert').click()
        self.browser.switch_to.active_element.send_keys('啊')
        self.assertEqual(box.get_attribute('value'), '今天[MASK]啊')
        self.browser.execute_script(
            'document.querySelector("#text").dispatchEvent(new KeyboardEvent("keydown", '
            '{key: "Enter", isComposing: true, bubbles: true}))')
        time.sleep(0.3)
        self.assertEqual(self.all('.answer'), [])

    def test_several_lines(self):
        self.predict(*TWO_LINES)
        self.assertEqual(len(self.all('.answer')[1].find_elements(By.CSS_SELECTOR, '.bars')), 2)
        self.shoot('wide-light.png')
        self.assertEqual(self.browser.execute_script(CONTRAST), [])
        self.emulate('dark')
        self.shoot('wide-dark.png')
        self.assertEqual(self.browser.execute_script(CONTRAST), [])

    def test_narrow_screen_and_dark(self):
        self.narrow(360)
        self.emulate('dark')
        self.predict(*TWO_LINES)
        self.all('.bar')[0].click()
        self.assertLessEqual(self.browser.execute_script(
            'return document.documentElement.scrollWidth'), 360)
        self.shoot('narrow-dark.png')
        self.assertEqual(self.browser.execute_script(CONTRAST), [])
        self.narrow(320)
        self.assertLessEqual(self.browser.execute_script(
            'return document.documentElement.scrollWidth'), 320)
        small = [b.accessible_name for b in self.all('button, a.main, input:not([type=file])')
                 if b.is_displayed() and b.size['height'] < 24]
        self.assertEqual(small, [])  # large enough for a finger (WCAG 2.2)

    def test_look_and_language_switches(self):
        self.one('#theme').click()
        self.one('#theme').click()
        self.assertEqual(self.browser.execute_script(
            'return document.documentElement.dataset.theme'), 'dark')
        self.one('#language').click()
        self.assertEqual(self.one('#predict').text, 'Predict')
        self.assertEqual(self.browser.execute_script('return document.documentElement.lang'),
                         'en')
        self.browser.refresh()  # both are remembered
        self.assertEqual(self.one('#predict').text, 'Predict')
        self.predict('今天天气真[MASK]啊。')
        self.shoot('english-dark.png')
        self.assertEqual(self.browser.execute_script(CONTRAST), [])

    def test_words(self):
        self.one('#words').send_keys('满意,一般,不满意')
        self.predict('服务态度很[MASK]。')
        self.assertEqual({w.text for w in self.all('.bar .word')}, {'满意', '一般', '不满意'})

    def test_errors_in_words(self):
        self.type('没有空位').send_keys(Keys.ENTER)
        problem = self.until(lambda: self.one('#problem') if
                             self.one('#problem').is_displayed() else None)
        self.assertIn('[MASK]', problem.text)
        self.assertEqual(problem.get_attribute('role'), 'alert')
        self.type('今天【MASK】好')
        self.one('#fix-button').click()
        self.assertEqual(self.one('#text').get_attribute('value'), '今天[MASK]好')
        # A driver types nothing beyond the BMP.
        self.browser.execute_script("arguments[0].value = '𠮷'", self.one('#words'))
        self.one('#predict').click()
        self.until(lambda: '词表' in self.one('#problem').text)

    def test_examples_and_history(self):
        self.assertEqual(len(self.all('#examples button')), 8)
        self.all('#examples button')[0].click()
        self.until(lambda: self.all('.bar'))
        self.all('#examples button')[1].click()
        self.until(lambda: len(self.all('#history li')) == 2)
        self.all('#history button')[1].click()
        self.assertEqual(self.one('#text').get_attribute('value'), '今天天气真[MASK]啊。')

    def test_csv(self):
        rows = [f'{i},"第{i}天，天气真[MASK]"' for i in range(300)] + ['300,没有']
        path = temporary_file(('编号,text\r\n' + '\r\n'.join(rows)).encode('gb18030'), '.csv')
        self.one('#csv').send_keys(path)
        self.until(lambda: self.one('#file .main'))
        self.assertIn('301', self.one('#file').text)
        self.assertIn('GB18030', self.one('#file').text)
        self.assertEqual([h.text for h in self.all('#file th')], ['编号', 'text'])
        self.shoot('csv-preview.png')
        self.one('#file .main').click()
        link = self.until(lambda: self.one('#file a[download]'))
        self.assertIn('1', self.one('#file [role=status]').text)
        self.shoot('csv-done.png')
        link.click()
        name = os.path.basename(path)[:-4] + '-filled.csv'
        whole = os.path.join(self.downloads, name)
        self.until(lambda: os.path.exists(whole))
        with open(whole, 'rb') as out:
            data = out.read()
        self.assertTrue(data.startswith(b'\xef\xbb\xbf'))
        table = list(csv.DictReader(io.StringIO(data.decode('utf-8-sig'), newline='')))
        self.assertEqual(len(table), 301)
        self.assertEqual(table[7]['text'], '第7天，天气真[MASK]')
        self.assertTrue(table[7]['top1'])
        self.assertTrue(table[300]['error'])
        os.unlink(path)

    def test_a_file_that_is_dropped(self):
        self.browser.execute_script('''
            const carried = new DataTransfer();
            carried.items.add(new File(["text\\n天[MASK]气\\n"], "dropped.csv"));
            for (const type of ["dragenter", "dragover", "drop"])
              document.querySelector("#drop").dispatchEvent(new DragEvent(
                type, {dataTransfer: carried, bubbles: true, cancelable: true}));''')
        self.until(lambda: self.one('#file h2'))
        self.assertEqual(self.one('#file h2').text, 'dropped.csv')
        self.assertNotIn('over', self.one('#drop').get_attribute('class'))
        self.one('#file .main').click()
        self.until(lambda: self.one('#file a[download]'))

    def test_names_for_screen_readers(self):
        self.predict(*TWO_LINES)
        nodes = self.browser.execute_cdp_cmd('Accessibility.getFullAXTree', {})['nodes']
        roles = {}
        for node in nodes:
            role = node.get('role', {}).get('value')
            if role in ('button', 'textbox', 'link', 'combobox', 'progressbar', 'checkbox'):
                name = node.get('name', {}).get('value', '')
                self.assertTrue(name.strip(), node)
                roles[role] = roles.get(role, 0) + 1
        self.assertGreater(roles['button'], 15)
        self.assertEqual(roles['textbox'], 2)
        headings = [n['name']['value'] for n in nodes
                    if n.get('role', {}).get('value') == 'heading']
        self.assertGreaterEqual(len(headings), 3)

    def test_nothing_but_this_server_is_asked(self):
        self.predict('今天天气真[MASK]啊。')
        import json
        asked = [json.loads(e['message'])['message'] for e in
                 self.browser.get_log('performance')]
        urls = {m['params']['request']['url'] for m in asked
                if m['method'] == 'Network.requestWillBeSent'}
        home = f'http://127.0.0.1:{self.server.port}/'
        self.assertTrue(urls)
        self.assertEqual({u for u in urls if not u.startswith((home, 'data:', 'blob:'))}, set())


if __name__ == '__main__':
    unittest.main()
