# SPDX-License-Identifier: MIT
"""Real clients from PyPI: huggingface_hub's InferenceClient, and schemathesis with
data/openapi.yaml. They live in a virtual environment in the build folder."""
import os
import shutil
import subprocess
import sys
import unittest

from server import BUILD, Server, temporary_file

PACKAGES = ['huggingface_hub', 'schemathesis']
PLACE = os.path.join(BUILD, 'serve-clients')

FILL_MASK = '''
import sys
from huggingface_hub import InferenceClient
url = sys.argv[1]
for client in (InferenceClient(url), InferenceClient(url + '/models/bert-base-chinese'),
               InferenceClient(url, token='not-looked-at')):
    answer = client.fill_mask('今天天气真[MASK]啊。')
    assert len(answer) == 5, answer
    assert answer[0].token_str in answer[0].sequence and 0 < answer[0].score <= 1, answer[0]
    assert [a.score for a in answer] == sorted((a.score for a in answer), reverse=True)
    assert len(client.fill_mask('天[MASK]气', top_k=2)) == 2
    two = client.fill_mask('天[MASK]气', targets=['好', '坏'], top_k=7)
    assert {a.token_str for a in two} == {'好', '坏'}, two
    try:
        client.fill_mask('没有空位')
    except Exception as error:
        assert 'no [MASK]' in str(error), error
    else:
        raise SystemExit('no error without a mask')
print('fine')
'''


def environment():
    """The folder of the programs, made on first use; None without the network."""
    programs = os.path.join(PLACE, 'bin')
    if not os.path.exists(os.path.join(programs, 'schemathesis')):
        shutil.rmtree(PLACE, ignore_errors=True)
        made = subprocess.run([sys.executable, '-m', 'venv', PLACE], check=False)
        if made.returncode == 0:
            made = subprocess.run([os.path.join(programs, 'pip'), 'install', '-q', *PACKAGES],
                                  check=False)
        if made.returncode != 0:
            shutil.rmtree(PLACE, ignore_errors=True)
            return None
    return programs


class Clients(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.programs = environment()
        if not cls.programs:
            raise unittest.SkipTest('needs python3-venv and PyPI: ' + ' '.join(PACKAGES))

    def test_inference_client(self):
        with Server() as server:
            done = subprocess.run([os.path.join(self.programs, 'python3'), '-c', FILL_MASK,
                                   f'http://127.0.0.1:{server.port}'], capture_output=True,
                                  text=True, timeout=100, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, 'fine\n'), done.stderr[-3000:])

    def schemathesis(self, *options):
        """Not checked: that any text is accepted, since no schema knows the vocabulary."""
        with Server(*options) as server:
            command = [os.path.join(self.programs, 'schemathesis'), 'run', 'data/openapi.yaml',
                       '--url', f'http://127.0.0.1:{server.port}',
                       '--exclude-checks', 'positive_data_acceptance',
                       '--phases', 'examples,coverage,fuzzing', '--max-examples', '60']
            if options:
                command += ['-H', 'Authorization: Bearer a key of my own']
            done = subprocess.run(command, capture_output=True, text=True, timeout=300,
                                  check=False)
            self.assertEqual(done.returncode, 0, done.stdout[-6000:])
            self.assertTrue(server.alive())
            text = ''.join(server.lines)
        self.assertNotIn(' 500 ', text)

    def test_schemathesis(self):
        self.schemathesis()

    def test_schemathesis_with_a_key(self):
        path = temporary_file(b'a key of my own\n')
        self.schemathesis('--api-key-file=' + path)
        os.unlink(path)


if __name__ == '__main__':
    unittest.main()
