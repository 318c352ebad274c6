# SPDX-License-Identifier: MIT
"""What must never harm the server. After every request it still answers a good one."""
import json
import random
import socket
import time
import unittest

from server import Server, receive, status_of

GOOD = json.dumps({'text': '今天天气真[MASK]啊。'}).encode()
JSON_ROUTES = '/predict', '/api/predict', '/', '/models/x'


def http(method, path, body=b'', *headers):
    lines = [f'{method} {path} HTTP/1.1', 'Host: x', 'Connection: close', *headers]
    return '\r\n'.join(lines).encode() + b'\r\n\r\n' + body


class BadInput(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def tearDown(self):
        self.assertTrue(self.server.alive())
        self.assertEqual(self.server.post('/predict', GOOD)[0], 200)

    def refused(self, path, body, code=None, status=400):
        got, answer = self.server.post(path, body)
        self.assertEqual(got, status, (path, body[:80], answer))
        self.assertEqual(set(answer), {'error', 'code'})
        if code:
            self.assertEqual(answer['code'], code, (path, body[:80], answer))
        return answer['error']

    def test_S01_gbk_bytes(self):
        bodies = ['{"text":"今天[MASK]"}'.encode('gbk'), b'{"text":"\xed\xa0\xbd[MASK]"}',
                  b'{"text":"\xff[MASK]"}', b'\xff\xfe{\x00}\x00']
        for path in JSON_ROUTES:
            said = {self.refused(path, body, 'bad_json') for body in bodies}
            self.assertEqual(len(said), 1)  # fixed: nothing of the body in it

    def test_S02_broken_json(self):
        for path in JSON_ROUTES:
            for body in (b'{:', b'', b'{', b'{"text":"a[MASK]"', b'nul', b'{"text":"a\x01"}',
                         b'{"text":1}}', b'{"text":"a","top_k":Infinity}',
                         b'{"text":"a","top_k":1e400}', b'[' * 10000, b'{"a":' * 10000,
                         b'[' * 10000 + b']' * 10000, b'\x00', b'{"text":"x",}',
                         b'{"text":"a[MASK]","text":"b[MASK]"}',
                         b'{"inputs":"a[MASK]","inputs":"b[MASK]"}'):
                self.refused(path, body, 'bad_json')

    def test_T34_lone_surrogates(self):
        for path in JSON_ROUTES:
            for escape in b'\\ud800', b'\\udc00', b'\\ud83d\\u0041':
                key = b'"text"' if 'predict' in path else b'"inputs"'
                self.refused(path, b'{' + key + b':"' + escape + b'[MASK]"}', 'bad_json')
        for query in '%ED%A0%BD[MASK]', '%FF', '%', '%4', '%zz':
            self.assertEqual(self.server.request('POST', '/predict?text=' + query)[0], 400)

    def test_S04_nul_and_bad_hex(self):
        self.refused('/predict', b'{"text":"\\uX000[MASK]"}', 'bad_json')
        whole = self.server.post('/predict', '{"text":"中\\u0000国[MASK]"}'.encode())
        self.assertEqual(whole[0], 200)
        self.assertEqual(whole, self.server.post('/predict', {'text': '中国[MASK]'}))

    def test_wrong_types(self):
        for value in (1, None, True, [], {}, ['a[MASK]'], 1e300):
            self.refused('/predict', json.dumps({'text': value}).encode(), 'bad_request')
        for value in (1, None, True, {}, [], [1], [None], [['a[MASK]']], ['a[MASK]'] * 129):
            self.refused('/', json.dumps({'inputs': value}).encode(), 'bad_request')
        said = self.refused('/predict', b'{"text":"a[MASK]","top_k":1.5}', 'bad_request')
        self.assertIn('a whole number from 1 to 1000', said)
        for key, values in {'top_k': (0, -1, 1001, 1.5, '5', [], 10 ** 30),
                            'words': (1, '', [], [1], [''], {}, 'a' * 10 + ',' * 2000,
                                      ['a\nb'], '好\0', '好\n坏')}.items():
            for value in values:
                body = json.dumps({'text': 'a[MASK]', key: value}).encode()
                self.refused('/predict', body, 'bad_request')
        for parameters in (1, [], 'x', {'top_k': 0}, {'targets': '好'}, {'targets': []},
                           {'targets': [1]}, {'truncate': 1}):
            body = json.dumps({'inputs': 'a[MASK]', 'parameters': parameters}).encode()
            self.refused('/', body, 'bad_request')
        for body in b'1', b'"x"', b'[]', b'null', b'true':
            for path in JSON_ROUTES:
                self.refused(path, body, 'bad_request')

    def test_masks(self):
        self.refused('/predict', b'{"text":"no mask"}', 'no_mask')
        self.refused('/predict', b'{"text":""}', 'no_mask')
        self.refused('/predict', json.dumps({'text': '[MASK]' * 600}).encode(),
                     'too_many_masks')
        self.refused('/', json.dumps({'inputs': ['好[MASK]', '[MASK]' * 600]}).encode(),
                     'too_many_masks')
        self.refused('/predict', json.dumps({'text': '[MASK]' * 100, 'top_k': 1000}).encode(),
                     'too_many_answers')
        # Theirs repeats the sentence for each word: that must not fill the memory.
        for inputs in '好' * 60000 + '[MASK]', ['好' * 600 + '[MASK]'] * 100:
            self.refused('/', json.dumps({'inputs': inputs, 'parameters': {'top_k': 100}})
                         .encode(), 'too_many_answers')
        # Each beginning of each word is a text to be read anew.
        han = '的一是不了人我在有他这大来以个中上们到说国和地也子时道出而要于就下得可你年生'
        words = [''.join(random.Random(i).choices(han, k=64)) for i in range(60)]
        self.refused('/predict', json.dumps({'text': '好' * 300 + '[MASK]', 'words': words})
                     .encode(), 'too_many_answers')
        far_apart = ('好' * 600 + '[MASK]') * 40
        self.refused('/predict', json.dumps({'text': far_apart}).encode(), 'too_long')

    def test_words_that_the_model_does_not_know(self):
        for words in '𠮷', '好,𠮷', '[MASK]', ['好 坏'], '好' * 1000:
            self.refused('/predict', json.dumps({'text': 'a[MASK]', 'words': words}).encode(),
                         'bad_words')

    def test_S10_bodies_over_the_limit(self):
        big = b'{"text":"' + b'a' * (3 << 20) + b'"}'
        for path in JSON_ROUTES:
            data = self.server.raw(http('POST', path, big, f'Content-Length: {len(big)}'))
            self.assertEqual(status_of(data), 413)
            self.assertIn(b'2097152', data)  # the limit
        started = time.perf_counter()
        data = self.server.raw(http('POST', '/predict', b'', 'Content-Length: 99999999999'))
        self.assertEqual(status_of(data), 413)
        self.assertLess(time.perf_counter() - started, 1)  # before it is read

    def test_S10_chunks_are_counted_after_decoding(self):
        chunk = b'%x\r\n' % 65536 + b'a' * 65536 + b'\r\n'
        data = self.server.raw(http('POST', '/predict', chunk * 40 + b'0\r\n\r\n',
                                    'Transfer-Encoding: chunked'))
        self.assertEqual(status_of(data), 413)
        endless = http('POST', '/predict', b'', 'Transfer-Encoding: chunked')
        with socket.create_connection(('127.0.0.1', self.server.port), timeout=20) as link:
            link.sendall(endless)
            with self.assertRaises(OSError):
                for _ in range(2000):
                    link.sendall(chunk)
        body = GOOD
        small = b''.join(b'1;x=y\r\n' + body[i:i + 1] + b'\r\n' for i in range(len(body)))
        data = self.server.raw(http('POST', '/predict', small + b'0\r\n\r\n',
                                    'Transfer-Encoding: chunked'))
        self.assertEqual(status_of(data), 200)

    def test_framing(self):
        both = http('POST', '/predict', GOOD, f'Content-Length: {len(GOOD)}',
                    'Transfer-Encoding: chunked')
        self.assertEqual(status_of(self.server.raw(both)), 400)
        twice = http('POST', '/predict', GOOD, f'Content-Length: {len(GOOD)}',
                     'Content-Length: 5')
        self.assertEqual(status_of(self.server.raw(twice)), 400)
        other = http('POST', '/predict', GOOD, 'Transfer-Encoding: gzip, chunked')
        self.assertEqual(status_of(self.server.raw(other)), 400)
        for length in '-1', 'x', '1e3', '99999999999999999999999':
            data = self.server.raw(http('POST', '/predict', GOOD, f'Content-Length: {length}'))
            self.assertIn(status_of(data), (400, 413))
        for chunks in b'x\r\n\r\n', b'-1\r\na\r\n', b'5\r\nabcdeX\r\n':
            data = self.server.raw(http('POST', '/predict', chunks,
                                        'Transfer-Encoding: chunked'))
            self.assertIn(status_of(data), (400, 0))
        zipped = http('POST', '/predict', GOOD, f'Content-Length: {len(GOOD)}',
                      'Content-Encoding: gzip')
        self.assertEqual(status_of(self.server.raw(zipped)), 415)

    def test_headers(self):
        data = self.server.raw(http('GET', '/health', b'', 'X-Big: ' + 'a' * (1 << 20)))
        self.assertEqual(status_of(data), 431)
        self.assertEqual(status_of(self.server.raw(b'GET /health HTTP/1.1\r\n\r\n')), 400)
        for junk in b'\r\n' * 100 + b'x', b'\x16\x03\x01\x02\x00\x01\x00\x01', b'GET\r\n\r\n', \
                b'GET / HTTP/9.9\r\nHost: x\r\n\r\n', b'\x00' * 1000:
            with socket.create_connection(('127.0.0.1', self.server.port)) as link:
                link.sendall(junk)  # some are answered, some wait for more until they idle

    def test_S13_paths(self):
        for path in ('/%2e%2e/x', '/..%2fx', '/../x', '/%2e%2e%2f%2e%2e%2fetc/passwd',
                     '/www-x', '/models/../x', '/models/%2e%2e', '/models/a/%2e./b',
                     '/models/..\\x', '/%00', '/models/a%00b', '/models/%zz', '//etc',
                     '/health/', '/predict/x', '/PREDICT', '/models/', '/models'):
            for method, body in ('GET', b''), ('POST', GOOD):
                data = self.server.raw(http(method, path, body,
                                            f'Content-Length: {len(body)}'))
                self.assertIn(status_of(data), (400, 404, 405), path)
        self.assertIn(status_of(self.server.raw(http('GET', '../x'))), (400, 404))
        self.assertEqual(status_of(self.server.raw(http('GET', 'http://x/health'))), 200)

    def test_methods(self):
        for path, allowed in (('/predict', 'POST'), ('/health', 'GET, HEAD'),
                              ('/', 'GET, HEAD, POST')):
            for method in 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'BREW':
                status, headers, body = self.server.request(method, path)
                self.assertEqual((status, headers['Allow']), (405, allowed))
                self.assertEqual(json.loads(body)['code'], 'bad_method')

    def test_multipart(self):
        self.wait_until_idle()
        good = b'--e\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n' \
               b'text\nx[MASK]\n\r\n--e--\r\n'
        kind = 'multipart/form-data; boundary=e'

        def send(body, content_type):
            headers = {'Content-Type': content_type} if content_type else {}
            return self.server.request('POST', '/api/batch', body, headers)[0]

        self.assertEqual(send(good, kind), 200)
        self.assertEqual(send(good, 'multipart/form-data; boundary="e"'), 200)
        for body, content_type in ((good, 'multipart/form-data'),
                                   (good, 'multipart/form-data; boundary='),
                                   (good, 'multipart/form-data; boundary=other'),
                                   (good, 'multipart/form-data; boundary=' + 'e' * 71),
                                   (good[:-10], kind), (b'', kind), (b'--e', kind),
                                   (b'--e--\r\n', kind), (b'--e\r\n\r\n', kind),
                                   (b'--e\r\n' * 1000, kind)):
            self.assertEqual(send(body, content_type), 400, (body[:30], content_type))
        for content_type in None, 'application/json', 'text/plain':
            self.assertEqual(send(good, content_type), 415)
        for data in (b'\x00' * 1000, b'"' * 1001, b'text\n"a', b'a,b\n1,2\n1,2,3\n',
                     b'text\n\xff\xfe[MASK]\n', '\ufefftext\nx'.encode('utf-16')):
            self.assertIn(self.server.upload(data)[0], (200, 400), data[:20])
        self.assertEqual(self.server.upload(good, '?format=xml')[0], 400)

    def test_a_file_is_called_so_in_messages(self):
        for data, said in ((b'\xff\xff\xff,text\n1,2\n', 'the file:1: '),
                           ('text\n'.encode('utf-16'), 'the file is UTF-16 ')):
            status, _, body = self.server.upload(data)
            self.assertEqual((status, json.loads(body)['code']), (400, 'bad_csv'))
            self.assertTrue(json.loads(body)['error'].startswith(said), body)

    def test_V05_rows_that_cannot_be_read_say_so(self):
        # A cell is a text, and as long as one in a body may be.
        long = 'text\n' + '好' * (2 << 20) + '[MASK]\n好[MASK]\n'
        rows = json.loads(self.server.upload(long.encode())[2])['rows']
        self.assertEqual([row['error'] for row in rows],
                         ['line 2: longer than 2097152 bytes', None])
        rows = json.loads(self.server.upload('text\n好[MASK]\n"坏[MASK]\n'.encode())[2])['rows']
        self.assertIsNone(rows[0]['error'])
        self.assertTrue(rows[-1]['error'])

    def test_client_leaves(self):
        request = http('POST', '/predict', GOOD, f'Content-Length: {len(GOOD)}')
        for cut in range(0, len(request), 7):
            with socket.create_connection(('127.0.0.1', self.server.port)) as link:
                link.sendall(request[:cut])
        data = ('text\n' + ''.join(f'第{i}行[MASK]\n' for i in range(3000))).encode()
        upload = http('POST', '/api/batch?format=jsonl', data, 'Content-Type: text/csv',
                      f'Content-Length: {len(data)}')
        for _ in range(6):  # more than may run at once: those that left must not count
            self.wait_until_idle()
            with socket.create_connection(('127.0.0.1', self.server.port), timeout=20) as link:
                link.sendall(upload)
                while b'"id":5' not in (got := link.recv(65536)):
                    self.assertTrue(got)
                link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b'\1\0\0\0\0\0\0\0')
        self.wait_until_idle()

    def wait_until_idle(self):
        deadline = time.monotonic() + 20
        while self.server.metric('requests_in_progress') > 1:  # this one
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)

    def test_half_open_client_gets_its_answer(self):
        body = json.dumps({'text': '只听不说[MASK]'}).encode()
        request = http('POST', '/predict', body, f'Content-Length: {len(body)}')
        with socket.create_connection(('127.0.0.1', self.server.port), timeout=20) as link:
            link.sendall(request)
            link.shutdown(socket.SHUT_WR)
            self.assertEqual(status_of(receive(link)), 200)


if __name__ == '__main__':
    unittest.main()
