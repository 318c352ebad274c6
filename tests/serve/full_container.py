# SPDX-License-Identifier: MIT
"""The image of Containerfile, built and run by buildah, which needs no privileges with its
vfs storage and chroot isolation. Where the base image cannot be fetched, one of the same
name is made by debootstrap from the mirror that this machine's apt uses."""
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

import torch_bin
from server import BUILD

BASE = 'docker.io/library/debian:12-slim'
PORT = 8000  # of the image
HERE = f'http://127.0.0.1:{PORT}'
# Beside the build folder: make reads all *.d in that, and an image has folders so named.
STORE = os.path.abspath(BUILD) + '-containers'
BUILDAH = ['buildah', '--storage-driver', 'vfs', '--root', STORE + '/root', '--runroot',
           STORE + '/run']


def buildah(*arguments, timeout=900):
    return subprocess.run([*BUILDAH, *arguments], capture_output=True, text=True,
                          timeout=timeout, check=False)


def apt(*arguments):
    return subprocess.run(arguments, capture_output=True, text=True, check=False).stdout


def make_base():
    """None, or why it could not be made."""
    if os.geteuid() != 0 or not shutil.which('debootstrap'):
        return 'no base image: it cannot be fetched, and debootstrap (as root) is not there'
    sites = apt('apt-get', 'indextargets', '--format', '$(REPO_URI)',
                'Created-By: Packages', 'Origin: Debian', 'Codename: bookworm').split()
    folder = os.path.join(STORE, 'base')
    shutil.rmtree(folder, ignore_errors=True)
    made = subprocess.run(['debootstrap', '--variant=minbase', 'bookworm', folder,
                           *sites[:1]], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        return 'no base image: debootstrap: ' + made.stdout[-300:].strip()
    # How this machine reaches its mirror (a proxy, say) holds for the image's build, too.
    settings = [line for line in apt('apt-config', 'dump', 'Acquire').splitlines()
                if 'IndexTargets' not in line]
    with open(os.path.join(folder, 'etc/apt/apt.conf.d/99host'), 'w',
              encoding='utf-8') as out:
        out.write('\n'.join(settings) + '\n')
    name = buildah('from', 'scratch').stdout.strip()
    buildah('add', '-q', name, folder, '/')
    saved = buildah('commit', '-q', '--rm', name, BASE)
    shutil.rmtree(folder, ignore_errors=True)
    return None if saved.returncode == 0 else 'no base image: ' + saved.stderr[-300:]


@unittest.skipUnless(shutil.which('buildah'), 'needs buildah')
class Container(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if buildah('inspect', '--type', 'image', BASE).returncode != 0 and \
                buildah('pull', '-q', BASE, timeout=300).returncode != 0:
            missing = make_base()
            if missing:
                raise unittest.SkipTest(missing)
        built = buildah('build', '--pull=never', '--format', 'docker', '--isolation',
                        'chroot', '-t', 'bert-serve', '.')
        if built.returncode != 0:
            raise AssertionError(built.stdout[-2000:] + built.stderr[-3000:])
        image = json.loads(buildah('inspect', '--type', 'image', 'bert-serve').stdout)
        cls.config = image['Docker']['config']
        cls.name = buildah('from', '--pull=never', 'bert-serve').stdout.strip()

    @classmethod
    def tearDownClass(cls):
        buildah('rm', cls.name)

    def inside(self, *command, options=()):
        return [*BUILDAH, 'run', '--isolation', 'chroot', *options, self.name, '--', *command]

    def serve(self, command):
        """Starts it; answers when its health does."""
        with socket.socket() as probe:
            if probe.connect_ex(('127.0.0.1', PORT)) == 0:
                self.skipTest(f'port {PORT} is taken')
        log = tempfile.TemporaryFile()
        self.addCleanup(log.close)
        process = subprocess.Popen(command, stdout=log, stderr=log)
        self.addCleanup(self.end, process)
        end = time.monotonic() + 30
        while time.monotonic() < end and process.poll() is None:
            try:
                if urllib.request.urlopen(HERE + '/health').status == 200:
                    return process
            except OSError:
                time.sleep(0.1)
        log.seek(0)
        raise AssertionError(log.read()[-3000:].decode('utf-8', 'replace'))

    def end(self, process):
        if process.poll() is None:
            process.terminate()
        process.wait(30)

    def fill(self):
        request = urllib.request.Request(
            HERE + '/predict', json.dumps({'text': '今天天气真[MASK]啊。'}).encode())
        return json.loads(urllib.request.urlopen(request).read())['results']

    def version(self):
        return json.loads(urllib.request.urlopen(HERE + '/version').read())

    def test_user(self):
        self.assertEqual(self.config['User'], 'bert')
        for command, wanted in ((['id', '-un'], 'bert'),
                                (['sh', '-c', 'touch /usr/bin/x || echo no'], 'no')):
            said = subprocess.run(self.inside(*command), capture_output=True, text=True,
                                  check=False)
            self.assertEqual(said.stdout.strip(), wanted, said.stderr)

    def test_answer_and_health(self):
        entry = self.config['Entrypoint']
        self.assertEqual(entry[-2:], ['--listen', f'0.0.0.0:{PORT}'])
        self.assertNotEqual(self.health(), 0)
        self.serve(self.inside(*entry))
        self.assertEqual(len(self.fill()), 5)
        self.assertEqual(self.health(), 0)

    def health(self):
        kind, command = self.config['Healthcheck']['Test']
        self.assertEqual(kind, 'CMD-SHELL')
        return subprocess.run(self.inside('sh', '-c', command), capture_output=True,
                              check=False).returncode

    def test_model_path(self):
        """A folder of a .bin and config.json, and no vocabulary, is enough."""
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, 'tests/bench/random_model.py', folder, '--layers',
                            '1', '--hidden', '64'], check=True)
            torch_bin.convert(folder)
            self.assertEqual(sorted(os.listdir(folder)), ['config.json', 'pytorch_model.bin'])
            os.chmod(folder, 0o755)
            self.serve(self.inside(*self.config['Entrypoint'], options=(
                '-v', folder + ':/model:ro', '-e', 'MODEL_PATH=/model')))
            self.assertEqual(len(self.fill()), 5)
            self.assertIn('model', json.dumps(self.version()))

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which('unshare'),
                         'a read-only root needs to mount')
    def test_read_only_root(self):
        root = buildah('mount', self.name).stdout.strip()
        self.addCleanup(buildah, 'umount', self.name)
        script = ('mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && cd / && '
                  '! touch "$0/x" 2>/dev/null && exec chroot --userspec=bert "$0" "$@"')
        process = self.serve(['unshare', '--mount', 'sh', '-c', script, root,
                              *self.config['Entrypoint']])
        self.assertEqual(len(self.fill()), 5)
        self.end(process)
        self.assertEqual(process.returncode, 0)


if __name__ == '__main__':
    unittest.main()
