# SPDX-License-Identifier: MIT
"""Signals: the end of the server, and new models."""
import json
import os
import signal
import socket
import tempfile
import threading
import time
import unittest

from server import Server, receive, request, status_of


class Signals(unittest.TestCase):
    def test_term_answers_what_is_in_progress(self):
        server = Server('-j1', '--cache=0', '--drain=60')
        rows = 'text\n' + ''.join(f'第{i}行有[MASK]字\n' for i in range(1500))
        link = socket.create_connection(('127.0.0.1', server.port), timeout=30)
        link.sendall(request(rows.encode(), 'Content-Type: text/csv',
                             path='/api/batch?format=jsonl'))
        data = link.recv(1000)
        server.process.send_signal(signal.SIGTERM)
        server.wait_for('draining 1 request')
        with self.assertRaises(OSError):
            socket.create_connection(('127.0.0.1', server.port), timeout=2)
        data += receive(link)
        self.assertEqual(data.count(b'"id":'), 1500)
        self.assertEqual(server.stop(), 0)

    def test_term_does_not_wait_longer_than_asked(self):
        server = Server('-j1', '--drain=1', '--cache=0')
        links = []
        for _ in range(3):
            rows = 'text\n' + ('长' * 300 + '[MASK]\n') * 60000
            links.append(socket.create_connection(('127.0.0.1', server.port), timeout=30))
            links[-1].sendall(request(rows.encode(), 'Content-Type: text/csv',
                                      path='/api/batch'))
        stalled = socket.create_connection(('127.0.0.1', server.port))
        stalled.sendall(b'POST /predict HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n')
        links[0].recv(100)
        started = time.monotonic()
        self.assertEqual(server.stop(), 0)
        self.assertLess(time.monotonic() - started, 8)
        for link in [*links, stalled]:
            link.close()

    def test_what_waits_when_the_time_is_up_is_told_so(self):
        for _ in range(5):
            server = Server('-j1', '--drain=0', '--cache=0')
            links = []
            for i in range(60):
                body = json.dumps({'text': f'{i}' + '长' * 400 + '[MASK]'}).encode()
                links.append(socket.create_connection(('127.0.0.1', server.port), timeout=20))
                links[-1].sendall(request(body))
            while server.metric('queue_length') < 30:
                time.sleep(0.001)
            server.process.send_signal(signal.SIGTERM)
            answers = [status_of(receive(link)) for link in links]
            self.assertEqual(server.stop(), 0)
            self.assertEqual(set(answers) | {200}, {200, 503})

    def test_a_second_term_ends_at_once(self):
        server = Server('--drain=60')
        link = socket.create_connection(('127.0.0.1', server.port))
        link.sendall(b'POST /predict HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n')
        while server.metric('requests_in_progress') < 2:
            time.sleep(0.01)
        server.process.send_signal(signal.SIGTERM)
        server.wait_for('draining')
        started = time.monotonic()
        self.assertEqual(server.stop(), 0)
        self.assertLess(time.monotonic() - started, 5)
        link.close()

    def test_hup_reloads_without_losing_a_request(self):
        with Server('--cache=0') as server:
            failed, stop = [], threading.Event()

            def load(worker):
                connection, i = server.connect(), 0
                while not stop.is_set():
                    connection.request('POST', '/', json.dumps({'inputs': f'{worker}-{i}[MASK]'}))
                    answer = connection.getresponse()
                    answer.read()
                    if answer.status != 200:
                        failed.append(answer.status)
                    i += 1
                connection.close()
            workers = [threading.Thread(target=load, args=(w,)) for w in range(6)]
            for worker in workers:
                worker.start()
            for count in range(1, 5):
                server.process.send_signal(signal.SIGHUP)
                server.wait_for(r'(?s)(reloaded on.*){%d}' % count)
            stop.set()
            for worker in workers:
                worker.join()
            self.assertEqual(failed, [])
            self.assertEqual(server.metric('reloads_total'), 4)

    def test_hup_with_a_bad_model_keeps_the_old(self):
        with tempfile.TemporaryDirectory() as folder:
            model = os.path.join(folder, 'model')
            os.symlink(os.path.abspath('tests/golden/tiny/f32'), model)
            with Server(model=model) as server:
                before = server.post('/', {'inputs': '今天[MASK]气'})
                os.unlink(model)
                server.process.send_signal(signal.SIGHUP)
                server.wait_for('the old model stays')
                self.assertEqual(server.post('/', {'inputs': '今天[MASK]气'}), before)
                self.assertEqual(server.metric('reload_failures_total'), 1)
                os.symlink(os.path.abspath('tests/golden/tiny/untied'), model)
                server.process.send_signal(signal.SIGHUP)
                server.wait_for('reloaded on')
                after = server.post('/', {'inputs': '今天[MASK]气'})
                self.assertEqual(after[0], 200)
                self.assertNotEqual(after, before)  # and the cache is of the new one
            self.assertEqual(server.process.returncode, 0)

    def test_a_bad_model_is_one_line_of_the_log(self):
        with tempfile.TemporaryDirectory() as folder:
            model = os.path.join(folder, 'model')
            os.symlink(os.path.abspath('tests/golden/tiny/f32'), model)
            with Server('--log=json', model=model) as server:
                os.unlink(model)
                server.process.send_signal(signal.SIGHUP)
                server.wait_for('the old model stays')
            notes = [json.loads(line) for line in server.lines]
        said = [note for note in notes if 'the old model stays' in str(note)]
        self.assertEqual(len(said), 1)
        self.assertIn(model, str(said[0]))  # with the reason


if __name__ == '__main__':
    unittest.main()
