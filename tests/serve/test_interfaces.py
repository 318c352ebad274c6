# SPDX-License-Identifier: MIT
"""The published interfaces: shapes, numbers, words, the cache, CSV uploads."""
import csv
import io
import json
import time
import unittest

from server import Server

TINY = 'tests/golden/tiny/f32'
TEXT = '今天天气真[MASK]啊。'


def golden():
    with open('tests/golden/pipeline.jsonl', encoding='utf-8') as lines:
        return [json.loads(line) for line in lines]


def flatten(answer):
    return [x for part in answer for x in flatten(part)] if isinstance(answer, list) \
        else [answer]


class FillMask(unittest.TestCase):
    """POST / and /models/ANYTHING against what Hugging Face's own pipeline answered."""

    @classmethod
    def setUpClass(cls):
        cls.server = Server(model=TINY)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def check(self, ours, theirs):
        self.assertEqual([len(flatten(x)) for x in ours], [len(flatten(x)) for x in theirs])
        for a, b in zip(flatten(ours), flatten(theirs)):
            self.assertEqual(list(a), ['score', 'token', 'token_str', 'sequence'])
            self.assertEqual((a['token'], a['token_str'], a['sequence']),
                             (b['token'], b['token_str'], b['sequence']))
            self.assertAlmostEqual(a['score'], b['score'], delta=1e-4)

    def test_golden_pipeline(self):
        cases = 0
        for case in golden():
            if '冷' in case['parameters'].get('targets', []):
                continue  # F04: not in the vocabulary, which theirs scores as [UNK]
            status, answer = self.server.post(
                '/models/bert-base-chinese',
                {'inputs': case['text'], 'parameters': case['parameters']})
            self.assertEqual(status, 200, case)
            self.check(answer, case['result'])
            cases += 1
        self.assertGreater(cases, 10)

    def test_several_inputs_nest_once_more(self):
        one = self.server.post('/', {'inputs': TEXT})[1]
        two = self.server.post('/', {'inputs': '北京是[MASK][MASK]的首都。'})[1]
        status, both = self.server.post('/', {'inputs': [TEXT, '北京是[MASK][MASK]的首都。']})
        self.assertEqual((status, both), (200, [one, two]))
        self.assertEqual(self.server.post('/', {'inputs': [TEXT]})[1], one)

    def test_F06_targets_give_five_by_default(self):
        targets = ['好', '热', '天', '大', '小', '中', '国']
        status, answer = self.server.post(
            '/', {'inputs': TEXT, 'parameters': {'targets': targets}})
        self.assertEqual((status, len(answer)), (200, 5))
        self.assertLess(sum(x['score'] for x in answer), 0.9)  # F08: not renormalised

    def test_F03_target_of_several_tokens_is_400(self):
        for target in '北京', '', '“', '冷', '[MASK]', '好 好', '国\n好':
            status, answer = self.server.post(
                '/', {'inputs': TEXT, 'parameters': {'targets': ['好', target]}})
            self.assertEqual(status, 400, target)
            self.assertIn(answer['code'], ('bad_target', 'bad_request'))

    def test_T14_special_tokens_in_text_are_tokens(self):
        status, answer = self.server.post('/', {'inputs': '中[SEP]国[MASK][PAD]'})
        self.assertEqual((status, len(answer)), (200, 5))
        for entry in answer:  # as theirs: special tokens are left out of the sequence
            self.assertNotIn('SEP', entry['sequence'])
        status, two = self.server.post('/', {'inputs': '中[SEP]国[MASK][MASK]'})
        self.assertIn('[SEP]', two[0][0]['sequence'])


class Predict(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server('--cache=5')

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def test_predict(self):
        status, answer = self.server.post('/predict', {'text': TEXT})
        self.assertEqual(status, 200)
        results = answer['results']
        self.assertEqual(len(results), 5)
        self.assertEqual([set(r) for r in results], [{'word', 'confidence'}] * 5)
        confidences = [r['confidence'] for r in results]
        self.assertEqual(confidences, sorted(confidences, reverse=True))
        self.assertTrue(all(0 < c <= 100 for c in confidences))
        raw = self.server.request('POST', '/predict', json.dumps({'text': TEXT}))[2].decode()
        self.assertRegex(raw, r'"confidence":\d+\.\d\d[},]')

    def test_text_in_the_query(self):
        from urllib.parse import quote
        body = self.server.post('/predict', {'text': TEXT})[1]
        status, _, data = self.server.request('POST', '/predict?text=' + quote(TEXT))
        self.assertEqual((status, json.loads(data)), (200, body))
        self.assertEqual(self.server.post('/predict?text=' + quote(TEXT), {'text': TEXT})[0],
                         400)  # which of them?
        for option in 'top_k=2', 'words=':
            for data in {'text': TEXT}, b'':
                self.assertEqual(self.server.post('/predict?' + option, data)[0], 400)
        path = '/predict?text=' + quote(TEXT)
        self.assertEqual(self.server.post(path + '&top_k=2', b'')[1]['results'],
                         body['results'][:2])
        words = self.server.post('/predict', {'text': TEXT, 'words': '好,热'})
        self.assertEqual(self.server.post(path + '&words=' + quote('好,热'), b''), words)
        for wrong in '&top_k=0', '&top_k=x', '&top_k=', '&top_k=%221%22', '&words=':
            status, answer = self.server.post(path + wrong, b'')
            self.assertEqual((status, answer['code']), (400, 'bad_request'), wrong)

    def test_a_byte_order_mark_is_no_part_of_the_json(self):
        body = json.dumps({'text': TEXT}).encode()
        self.assertEqual(self.server.post('/predict', b'\xef\xbb\xbf' + body),
                         self.server.post('/predict', body))

    def test_several_masks_are_lists_of_lists(self):
        text = '北京是[MASK][MASK]的首都。'
        results = self.server.post('/predict', {'text': text, 'top_k': 2})[1]['results']
        self.assertEqual([len(r) for r in results], [2, 2])
        answer = self.server.post('/api/predict', {'text': text, 'top_k': 3})[1]
        self.assertEqual([len(r) for r in answer['predictions']], [3, 3])
        self.assertEqual([len(r) for r in answer['scores']], [3, 3])
        self.assertEqual(answer['predictions'][0][:2], [r['word'] for r in results[0]])
        self.assertAlmostEqual(answer['scores'][1][0] * 100, results[1][0]['confidence'],
                               delta=0.01)

    def test_words(self):
        answer = {}
        for words in '满意,一般,不满意', ['满意', '一般', '不满意']:
            status, answer = self.server.post(
                '/predict', {'text': '服务态度很[MASK]。', 'words': words})
            self.assertEqual(status, 200)
            self.assertEqual({r['word'] for r in answer['results']}, {'满意', '一般', '不满意'})
            self.assertAlmostEqual(sum(r['confidence'] for r in answer['results']), 100,
                                   delta=0.05)  # shares of the list
        top = self.server.post('/predict', {'text': '服务态度很[MASK]。', 'top_k': 1,
                                            'words': '满意,一般,不满意'})[1]['results']
        self.assertEqual(top, answer['results'][:1])

    def test_words_with_labels(self):
        answer = self.server.post('/predict', {'text': '服务态度很[MASK]。',
                                               'words': '好:满意,喜欢;差:失望'})[1]
        self.assertEqual({r['word']: r['label'] for r in answer['results']},
                         {'满意': '好', '喜欢': '好', '失望': '差'})

    def test_long_text_is_read_around_its_mask(self):
        text = '好' * 700 + TEXT + '坏' * 700
        self.assertEqual(self.server.post('/predict', {'text': text})[0], 200)

    def test_S10_truncate_acts_alike_for_one_text_and_a_list(self):
        text = '好' * 67000 + '[MASK]'
        for inputs in text, [text, text]:
            for truncate, wanted in (None, 200), (True, 200), (False, 400):
                parameters = {} if truncate is None else {'truncate': truncate}
                status, answer = self.server.post(
                    '/', {'inputs': inputs, 'parameters': parameters})
                self.assertEqual(status, wanted)
                if wanted == 400:
                    self.assertEqual(answer['code'], 'too_long')

    def test_S15_same_tokens_as_the_model_wants(self):
        """Blanks and letter case that the model does not see make the same question."""
        hits = self.server.metric('cache_hits_total')
        first = self.server.post('/predict', {'text': '北京 是 [MASK] 国'})[1]
        again = self.server.post('/predict', {'text': ' 北京是[MASK]国 '})[1]
        self.assertEqual(first, again)
        self.assertEqual(self.server.metric('cache_hits_total'), hits + 1)

    def test_cache_hit_under_a_millisecond_and_bounded(self):
        text = '缓存里[MASK]有一句话'
        self.server.post('/predict', {'text': text})
        connection, body = self.server.connect(), json.dumps({'text': text})
        times = []
        for _ in range(50):
            started = time.perf_counter()
            connection.request('POST', '/predict', body)
            answer = connection.getresponse()
            answer.read()
            times.append(time.perf_counter() - started)
            self.assertEqual(answer.headers['X-Cache'], 'hit')
        connection.close()
        self.assertLess(sorted(times)[len(times) // 4], 0.001)
        for i in range(6):
            self.server.post('/predict', {'text': f'第{i}句[MASK]'})
        status, headers, _ = self.server.request('POST', '/predict', body)
        self.assertEqual((status, headers['X-Cache']), (200, 'miss'))
        self.assertEqual(self.server.metric('cache_entries'), 5)

    def test_other_options_are_other_questions(self):
        text = '同一句[MASK]话'
        one = self.server.post('/predict', {'text': text, 'top_k': 1})[1]['results']
        three = self.server.post('/predict', {'text': text, 'top_k': 3})[1]['results']
        self.assertEqual((len(one), len(three)), (1, 3))
        self.assertEqual(one[0], three[0])


class Information(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def test_health_and_version(self):
        status, headers, body = self.server.get('/health')
        self.assertEqual((status, json.loads(body)), (200, {'status': 'ready'}))
        self.assertEqual(headers['X-Content-Type-Options'], 'nosniff')
        version = json.loads(self.server.get('/version')[2])
        self.assertEqual(version['name'], 'bert-serve')
        self.assertIn(version['precision'], ('f32', 'f16', 'int8'))

    def test_metrics(self):
        self.server.post('/predict', {'text': '量一量[MASK]'})
        self.server.post('/predict', {'text': '没有'})
        status, headers, body = self.server.get('/metrics')
        text = body.decode()
        self.assertEqual(status, 200)
        self.assertTrue(headers['Content-Type'].startswith('text/plain; version=0.0.4'))
        self.assertIn('bert_serve_requests_total{route="/predict",status="400"} 1', text)
        for name in ('requests_total', 'request_duration_seconds_bucket', 'batch_size_count',
                     'queue_length', 'cache_hits_total', 'tokens_total', 'model_info'):
            self.assertIn(f'bert_serve_{name}', text)
        for line in text.splitlines():
            self.assertRegex(line, r'^(# (HELP|TYPE) bert_serve_\w+ .+|'
                                   r'bert_serve_\w+(\{[^}]*\})? [\d.e+-]+)$')

    def test_page_and_its_policy(self):
        status, headers, body = self.server.get('/')
        page, policy = body.decode(), headers['Content-Security-Policy']
        self.assertEqual(status, 200)
        self.assertIn("default-src 'none'", policy)
        self.assertNotIn('unsafe', policy)
        nonce = policy.split("script-src 'nonce-")[1].split("'")[0]
        self.assertEqual(page.count(f'nonce="{nonce}"'), 2)
        self.assertNotIn('NONCE"', page)
        self.assertNotIn(nonce, self.server.get('/')[1]['Content-Security-Policy'])
        self.assertNotRegex(page, r'(src|href)="(https?:)?//')

    def test_head_is_get_without_a_body(self):
        for path in '/', '/health', '/metrics', '/version', '/openapi.yaml':
            status, _, body = self.server.request('HEAD', path)
            self.assertEqual((status, body), (200, b''))


class Batch(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def rows(self, data, query=''):
        status, headers, body = self.server.upload(data, query)
        self.assertEqual(status, 200, body)
        self.assertEqual(headers['Content-Type'], 'application/json')
        return json.loads(body)['rows']

    def test_json(self):
        rows = self.rows('id,text\na-1,今天天气真[MASK]啊。\na-2,没有\n'
                         'a-3,北京是[MASK][MASK]\n'.encode())
        self.assertEqual([r['id'] for r in rows], ['a-1', 'a-2', 'a-3'])
        self.assertEqual([list(r) for r in rows],
                         [['id', 'text', 'top1', 'confidence', 'error']] * 3)
        best = self.server.post('/api/predict', {'text': TEXT, 'top_k': 1})[1]
        self.assertEqual(rows[0]['top1'], best['predictions'][0])
        self.assertAlmostEqual(rows[0]['confidence'], best['scores'][0], delta=1e-5)
        self.assertIsNone(rows[0]['error'])
        self.assertIsNone(rows[1]['top1'])
        self.assertIn('[MASK]', rows[1]['error'])
        self.assertEqual((len(rows[2]['top1']), len(rows[2]['confidence'])), (2, 2))

    def test_csv_and_lines(self):
        data = 'text\n"一,二[MASK]"\n三[MASK][MASK]\n'.encode()
        status, headers, body = self.server.upload(data, '?format=csv')
        self.assertEqual((status, headers['Content-Type']), (200, 'text/csv; charset=utf-8'))
        table = list(csv.DictReader(io.StringIO(body.decode(), newline='')))
        self.assertEqual([r['id'] for r in table], ['1', '2'])
        self.assertEqual(table[0]['text'], '一,二[MASK]')
        self.assertEqual(len(table[1]['top1'].split()), 2)
        lines = self.server.upload(data, '?format=jsonl')[2].decode().splitlines()
        self.assertEqual([json.loads(line)['id'] for line in lines], [1, 2])

    def test_order_and_equality_of_many_rows(self):
        texts = [f'第{i}行的字是[MASK]。' for i in range(300)] + ['一样的[MASK]'] * 300
        rows = self.rows(('id,text\n' + ''.join(f'{i},{t}\n' for i, t in
                                                enumerate(texts))).encode())
        self.assertEqual([r['text'] for r in rows], texts)
        self.assertEqual(len({(r['top1'], r['confidence']) for r in rows[300:]}), 1)

    def test_V02_gb18030_from_a_spreadsheet(self):
        rows = self.rows('文本\r\n今天[MASK]气不错\r\n'.encode('gb18030'))
        self.assertEqual(rows[0]['text'], '今天[MASK]气不错')

    def test_V01_byte_order_mark(self):
        self.assertEqual(len(self.rows('\ufefftext,id\n好[MASK],7\n'.encode())), 1)

    def test_column_by_name(self):
        rows = self.rows('a,b\n一[MASK],二\n'.encode(), '?column=a')
        self.assertEqual(rows[0]['text'], '一[MASK]')
        status, _, body = self.server.upload('a,b\n一[MASK],二\n'.encode())
        self.assertEqual((status, json.loads(body)['code']), (400, 'bad_csv'))

    def test_words(self):
        rows = self.rows('text\n服务态度很[MASK]\n'.encode(),
                         '?words=%E6%BB%A1%E6%84%8F,%E5%A4%B1%E6%9C%9B')
        self.assertIn(rows[0]['top1'], ('满意', '失望'))
        for words in '', ',a' * 1001:
            status, _, body = self.server.upload('text\n好[MASK]\n'.encode(), '?words=' + words)
            self.assertEqual((status, json.loads(body)['code']), (400, 'bad_request'))
        status, _, body = self.server.upload('text\n好[MASK]\n'.encode(), '?words=%F0%A0%AE%B7')
        self.assertEqual((status, json.loads(body)['code']), (400, 'bad_words'))

    def test_header_only_and_nothing(self):
        self.assertEqual(self.rows(b'text\n'), [])
        self.assertEqual(self.rows(b''), [])  # V13

    def test_raw_csv_body(self):
        status, _, body = self.server.request('POST', '/api/batch', 'text\n好[MASK]\n'.encode(),
                                              {'Content-Type': 'text/csv'})
        self.assertEqual((status, len(json.loads(body)['rows'])), (200, 1))

    def test_answers_come_while_it_works(self):
        data = 'text\n' + ''.join(f'第{i}行有[MASK]个字\n' for i in range(4000))
        connection = self.server.connect()
        connection.request('POST', '/api/batch?format=jsonl', data.encode(),
                           {'Content-Type': 'text/csv'})
        answer = connection.getresponse()
        started = time.perf_counter()
        first = answer.readline()
        first_after = time.perf_counter() - started
        count = 1 + sum(1 for _ in answer)
        whole = time.perf_counter() - started
        connection.close()
        self.assertEqual((json.loads(first)['id'], count), (1, 4000))
        self.assertLess(first_after, whole / 2)


if __name__ == '__main__':
    unittest.main()
