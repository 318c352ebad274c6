# SPDX-License-Identifier: MIT
"""Everything at once for a while: load, uploads, reloads, clients that leave or dawdle. The
memory and the files open must stay flat and nothing may fail but what is meant to.
SERVE_SOAK_SECONDS (30), SERVE_SOAK_CLIENTS (12), SERVE_TEST_MODEL and B (a sanitized build)
choose what is soaked."""
import http.client
import json
import os
import random
import signal
import socket
import statistics
import threading
import time
import unittest

from server import PROGRAM, Server

SECONDS = float(os.environ.get('SERVE_SOAK_SECONDS', '30'))
CLIENTS = int(os.environ.get('SERVE_SOAK_CLIENTS', '12'))
COMMON = '的一是不了人我在有他这中大来上国个到说们为子和你地出道也时年得就那要下以生会自着去'


def text():
    return ''.join(random.choices(COMMON, k=random.randrange(3, 25))) + '[MASK]'


def is_sanitized():
    with open(PROGRAM, 'rb') as program:
        code = program.read()
    return b'__asan_init' in code or b'__tsan_init' in code


class Soak(unittest.TestCase):
    def setUp(self):
        self.server = Server('--idle-timeout=20', '--cache=50', '--max-connections=200', '-q')
        self.addCleanup(self.server.stop)
        self.stop = threading.Event()
        self.counts, self.wrong = {}, []

    def count(self, name, wrong=None):
        self.counts[name] = self.counts.get(name, 0) + 1
        if wrong:
            self.wrong.append(f'{name}: {wrong}')

    def run_job(self, job):
        """A client that fails is an error of the server's, not the end of a thread."""
        while not self.stop.is_set():
            try:
                job()
            except (OSError, http.client.HTTPException, ValueError) as error:
                self.count(job.__name__, repr(error))

    def ask(self):
        connection = self.server.connect(60)
        while not self.stop.is_set():
            path, key = random.choice((('/predict', 'text'), ('/', 'inputs'),
                                       ('/api/predict', 'text')))
            body = {key: text()}
            if random.random() < 0.1:
                body['top_k'] = random.randrange(1, 20)
            connection.request('POST', path, json.dumps(body))
            answer = connection.getresponse()
            answer.read()
            self.count(f'answers {answer.status}',
                       answer.status not in (200, 429) and answer.status)
        connection.close()

    def upload(self):
        while not self.stop.is_set():
            rows = 'id,text\n' + ''.join(f'{i},{text()}\n' for i in range(50))
            status, _, data = self.server.upload(rows.encode())
            whole = status == 200 and len(json.loads(data)['rows']) == 50
            self.count(f'uploads {status}', not whole and status != 503 and data[-100:])
            self.stop.wait(0.2)

    def leave(self):
        """Clients that go away in the middle of a request, of waiting, of an answer."""
        while not self.stop.is_set():
            body = json.dumps({'text': text()}).encode()
            whole = (f'POST /predict HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}'
                     '\r\n\r\n').encode() + body
            rows = b'text\n' + text().encode() * 3000
            upload = (f'POST /api/batch HTTP/1.1\r\nHost: x\r\nContent-Type: text/csv\r\n'
                      f'Content-Length: {len(rows)}\r\n\r\n').encode() + rows
            data = random.choice((whole, whole[:random.randrange(len(whole))], upload))
            try:
                with socket.create_connection(('127.0.0.1', self.server.port), 5) as link:
                    link.sendall(data)
                    if random.random() < 0.5:
                        link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                        b'\1\0\0\0\0\0\0\0')
            except OSError:
                pass
            self.count('leavers')
            self.stop.wait(0.02)

    def dawdle(self):
        links = []
        while not self.stop.wait(0.3):
            if len(links) < 20:
                links.append(socket.create_connection(('127.0.0.1', self.server.port)))
            for link in links[:]:
                try:
                    link.sendall(b'G')
                except OSError:
                    links.remove(link)
        for link in links:
            link.close()

    def reload(self):
        while not self.stop.wait(1.5):
            self.server.process.send_signal(signal.SIGHUP)
            self.count('reloads')

    def test_soak(self):
        jobs = [self.ask] * CLIENTS + [self.upload] * 2 + [self.leave, self.dawdle, self.reload]
        threads = [threading.Thread(target=self.run_job, args=(job,)) for job in jobs]
        files = self.server.open_files()
        for thread in threads:
            thread.start()
        sizes, end = [], time.monotonic() + SECONDS
        while time.monotonic() < end and self.server.alive():
            time.sleep(SECONDS / 30)
            sizes.append(self.server.resident_kib('RssAnon'))
        self.stop.set()
        for thread in threads:
            thread.join(60)
        self.assertTrue(self.server.alive(), ''.join(self.server.lines)[-5000:])
        reloads = self.server.metric('reloads_total')
        print(f'{self.counts}, {reloads:.0f} models loaded, '
              f'resident MiB {self.server.resident_kib() >> 10}, of them its own '
              f'{[s >> 10 for s in sizes[::3]]}')
        end = time.monotonic() + 60  # the idle timeout takes what is left
        while self.server.open_files() > files and time.monotonic() < end:
            time.sleep(0.2)
        kept, left = self.server.open_files(), self.server.metric('requests_in_progress')
        status = self.server.stop()
        said = ''.join(self.server.lines)
        self.assertEqual(self.wrong, [])
        self.assertEqual(left, 1)
        self.assertLessEqual(kept, files)
        self.assertGreater(reloads, 0)
        self.assertEqual(status, 0, said[-5000:])
        if is_sanitized():  # keeps what is freed
            return
        early, late = statistics.median(sizes[5:15]), statistics.median(sizes[-10:])
        self.assertLess(late, early * 1.1 + 8192)


if __name__ == '__main__':
    unittest.main()
